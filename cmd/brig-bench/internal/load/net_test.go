package load

import (
	"io"
	"net"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// serve answers on a loopback address of the test's own.
func serve(t *testing.T) string {
	t.Helper()
	l := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
	ended := make(chan error, 1)
	go func() { ended <- Serve(l) }()
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func TestNet(t *testing.T) {
	to := serve(t)
	for _, c := range []struct {
		op       string
		n, times int
	}{{"net-down", 3<<20 + 1, 1}, {"net-up", 3<<20 + 1, 1}, {"net-down", 0, 1}, {"net-up", 0, 1}, {"net-dial", 3, 3}} {
		nanos, err := perform(Request{c.op, c.n, to})
		if err != nil || len(nanos) != c.times {
			t.Errorf("%+v: %v, %v", c, nanos, err)
		}
		for _, ns := range nanos {
			if ns <= 0 {
				t.Errorf("%+v took %d ns", c, ns)
			}
		}
	}
}

// Connections are held from the second line until the input ends.
func TestHold(t *testing.T) {
	in, begin := io.Pipe()
	said, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Perform([]string{"net-hold", "5", serve(t)}, in, out) }()
	for range 2 {
		must.Get(said.Read(make([]byte, 8)))(t)
		must.Get(begin.Write([]byte("\n")))(t)
	}
	begin.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Nobody listens at port 1: each operation reports it.
func TestNetSaysWhyNot(t *testing.T) {
	for _, op := range []string{"net-down", "net-up", "net-dial"} {
		if _, err := perform(Request{op, 1, "127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), op+": ") || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: %v", op, err)
		}
	}
	err := Perform([]string{"net-hold", "2", "127.0.0.1:1"}, strings.NewReader("\n"), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "2 of 2 connections are not answered") {
		t.Error(err)
	}
	if _, err := perform(Request{"net-dial", 1, "nowhere"}); err == nil {
		t.Error("an address that is none is taken")
	}
}

// A connection that ends early is no transfer.
func TestReceiveWantsAll(t *testing.T) {
	l := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Read(make([]byte, 9))
			_, _ = c.Write(make([]byte, 10))
			c.Close()
		}
	}()
	if _, err := transfer(Request{"net-down", 11, l.Addr().String()}); err == nil || !strings.Contains(err.Error(), "1 bytes early") {
		t.Errorf("10 of 11 bytes: %v", err)
	}
}

func TestServeConnRefusesOtherRequests(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	go func() { _, _ = ours.Write([]byte("x")) }()
	if err := serveConn(theirs); err == nil {
		t.Error("x is taken for a request")
	}
}
