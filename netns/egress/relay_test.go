package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/netns/egress/policy"
)

// A stream in one direction keeps the other alive, before and after it is spliced.
func TestSilentDirectionIsNotIdle(t *testing.T) {
	for _, head := range []int{0, 2 * spliceAfter} {
		r := newRig(t, policy.Policy{Allow: rules("tcp://a.test:5000"), IdleTimeout: policy.Duration(400 * time.Millisecond)}).serve()
		r.server("a.test", 5000, func(c *net.TCPConn) {
			_, _ = c.Write(make([]byte, head))
			for range 16 {
				time.Sleep(50 * time.Millisecond)
				_, _ = c.Write([]byte("x"))
			}
			c.Close()
		})
		if n, err := io.Copy(io.Discard, r.dial(r.to("a.test", 5000))); n != int64(head+16) || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		r.s.Close()
	}
}

// A server that takes nothing does not hold a connection for ever.
func TestStalledReceiverIsIdle(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: rules("tcp://a.test:5000"), IdleTimeout: policy.Duration(200 * time.Millisecond)}).serve()
	stalled := make(chan struct{})
	defer close(stalled)
	r.server("a.test", 5000, func(c *net.TCPConn) {
		_, _ = io.CopyN(io.Discard, c, 2*spliceAfter)
		<-stalled
		c.Close()
	})
	c := r.dial(r.to("a.test", 5000))
	for {
		if _, err := c.Write(make([]byte, 1<<20)); err != nil {
			break
		}
	}
	if e := r.wait(1)[0]; e.Reason != policy.ReasonIdleTimeout || e.Verdict != VerdictAllow || e.Sent < 2*spliceAfter {
		t.Errorf("%+v", e)
	}
	r.end(1)
}

// Each connection in http mode has a line, or one a request.
func TestHTTPLines(t *testing.T) {
	for _, c := range []struct {
		said string
		want []policy.Reason
	}{
		{"", []policy.Reason{policy.ReasonClosed}},
		{"POST /upload HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\n\r\nabc", []policy.Reason{policy.ReasonClosed}},
		{"GET / HTTP/1.1\r\nHo", []policy.Reason{policy.ReasonNotHTTP}},
		{"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", []policy.Reason{""}},
		{"GET / HTTP/1.1\r\nHost: a.test\r\n\r\nGET /", []policy.Reason{"", policy.ReasonNotHTTP}},
		{"GET / HTTP/1.1\r\nHost: a.test\r\n\r\nGET / HTTP/1.1\r\nHost: b.test\r\n\r\n", []policy.Reason{"", policy.ReasonHostMismatch}},
		{"POST /upload HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcdefgh\r\n0\r\n\r\n", []policy.Reason{policy.ReasonProtocol}},
		{"GET / HTTP/1.0\r\nHost: a.test\r\n\r\n", []policy.Reason{""}},
	} {
		r := newRig(t, policy.Policy{Allow: rules("a.test")}).serve()
		r.site("a.test")
		conn := r.dial(r.to("a.test", 80))
		fmt.Fprint(conn, c.said)
		_ = conn.CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
		r.wait(len(c.want))
		for i, e := range r.end(len(c.want)) {
			if e.Reason != c.want[i] {
				t.Errorf("%q: %+v", c.said, e)
			}
		}
	}
}

// The bound of a connection holds for all its requests together.
func TestHTTPQuota(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: rules("a.test"), MaxConnectionBytes: 4 << 20}).serve()
	r.site("a.test")
	conn := r.dial(r.to("a.test", 80))
	br := bufio.NewReader(conn)
	for i := range 2 {
		fmt.Fprint(conn, "GET /big HTTP/1.1\r\nHost: a.test\r\n\r\n")
		res := must.Get(http.ReadResponse(br, nil))(t)
		if n, err := io.Copy(io.Discard, res.Body); (err == nil) != (i == 0) {
			t.Errorf("%d: %d bytes, %v", i, n, err)
		}
	}
	all := r.wait(2)
	if all[1].Reason != policy.ReasonMaxBytes || all[0].Sent+all[0].Received+all[1].Sent+all[1].Received != 4<<20 {
		t.Errorf("%+v", all)
	}
	r.end(2)
}

func TestCloseLeavesNoGoroutines(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: rules("tcp://a.test:5000", "a.test"), IdleTimeout: policy.Duration(time.Hour)})
	host, to := listenTCP(t), listenTCP(t)
	dns := withPacketInfo(t, "udp4")
	r.s.Serve(Sockets{TCP: []*net.TCPListener{r.jail}, DNS: dns, DNSTCP: listenTCP(t), UDP: []*net.UDPConn{withPacketInfo(t, "udp4")},
		Publish: []Published{{Listener: host, To: addrPort(to.Addr()), Conns: unconnected(t, 3)}}})
	hold := func(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) }
	r.server("a.test", 5000, hold)
	r.server("a.test", 80, hold)
	for _, port := range []uint16{5000, 443, 80} {
		c := r.dial(r.to("a.test", port))
		fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000000\r\n\r\n")
	}
	for range 5 {
		c := must.Get(net.Dial("tcp4", host.Addr().String()))(t)
		defer c.Close()
	}
	must.Get(to.AcceptTCP())(t)
	r.s.Close()
	buf, left := make([]byte, 1<<20), ""
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		left = "" // one that has said that it is done may still be on its last instruction
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(stack, "egress.(*") && !strings.Contains(stack, "egress.(*rig)") && !strings.Contains(stack, "testing.tRunner") {
				left += stack + "\n\n"
			}
		}
		if left == "" {
			break
		}
	}
	if left != "" {
		t.Errorf("left behind:\n%s", left)
	}
	addsUp(t, r.s.log.summary(), r.log.all())
	r.s.Serve(Sockets{TCP: []*net.TCPListener{listenTCP(t)}}) // too late: closes it
}

// The bound of a connection is exact, for both directions together.
func TestQuotaIsExact(t *testing.T) {
	const bound, down = 600 << 10, 500 << 10
	r := newRig(t, policy.Policy{Allow: rules("tcp://a.test:5000"), MaxConnectionBytes: bound}).serve()
	r.server("a.test", 5000, func(c *net.TCPConn) {
		_, _ = c.Write(make([]byte, down))
		_, _ = io.Copy(io.Discard, c)
		c.Close()
	})
	c := r.dial(r.to("a.test", 5000))
	must.Get(io.CopyN(io.Discard, c, down))(t)
	for range bound - down {
		must.Get(c.Write([]byte("x")))(t)
	}
	_ = c.CloseWrite()
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Error(err)
	}
	if e := r.wait(1)[0]; e.Reason != "" || e.Sent+e.Received != bound {
		t.Errorf("%+v", e)
	}
	r.end(1)
}
