package egress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/netns/egress/policy"
)

// The second that a server has after its request's upload has failed is for the begin of its answer: the body of the
// answer may take longer.
func TestSlowAnswerToAFailedUpload(t *testing.T) {
	for _, length := range []string{"Content-Length: 15000\r\n", ""} {
		r := newRig(t, policy.Policy{Allow: rules("a.test")}).serve()
		r.server("a.test", 80, func(c *net.TCPConn) {
			if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
				t.Error(err)
			}
			_, err := fmt.Fprint(c, "HTTP/1.1 200 OK\r\n"+length+"\r\n")
			for range 15 {
				if err == nil {
					_, err = c.Write(make([]byte, 1000))
				}
				time.Sleep(100 * time.Millisecond) // longer than bodyGrace in all
			}
			_ = c.CloseWrite()
			_, _ = io.Copy(io.Discard, c) // close(2) with unread bytes would send RST
			c.Close()
		})
		c := r.dial(r.to("a.test", 80))
		fmt.Fprint(c, "POST /upload HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\n\r\nabc")
		must.Do(t, c.CloseWrite())
		res := must.Get(http.ReadResponse(bufio.NewReader(c), nil))(t)
		if n, err := io.Copy(io.Discard, res.Body); n != 15000 || err != nil {
			t.Errorf("%q: %d bytes, %v", length, n, err)
		}
		c.Close()
		r.end(1)
	}
}

// A connection that the server resets after a long transfer ends with ECONNRESET in the jail, too: a clean end would
// make what has arrived look complete.
func TestResetAfterALongTransfer(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: rules("tcp://a.test:9")}).serve()
	received := make(chan struct{})
	r.server("a.test", 9, func(c *net.TCPConn) {
		_, _ = c.Write(make([]byte, 300<<10))
		<-received
		_ = c.SetLinger(0) // close(2) then sends RST
		c.Close()
	})
	c := r.dial(r.to("a.test", 9))
	n, err := io.ReadFull(c, make([]byte, 300<<10))
	close(received)
	if err != nil {
		t.Fatal(n, err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v, not a reset", err)
	}
	c.Close()
	r.end(1)
}

// An address that cannot be looked up counts as the host's.
func TestPlaceOf(t *testing.T) {
	for err, want := range map[error]policy.Reason{syscall.EPERM: policy.ReasonOwnAddress, syscall.EMFILE: policy.ReasonResources,
		syscall.ENETUNREACH: policy.ReasonNone} {
		if got := placeOf(0, err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
	if got := place(netip.MustParseAddr("127.0.0.1")); got != policy.ReasonOwnAddress {
		t.Error(got)
	}
}
