package egress

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/netns/egress/policy"
)

// What the payload has said goes out when it has ended, though its server is slow to take it; the line counts it.
func TestCloseSendsWhatWasSaid(t *testing.T) {
	const size = 256 << 10 // what the sockets between them hold
	r := newRig(t, policy.Policy{Allow: []policy.Rule{{Host: "a.test", Ports: []policy.Ports{{From: 5000, To: 5000}}}}}).serve()
	got := make(chan int64, 1)
	begin := make(chan struct{})
	r.server("a.test", 5000, func(c *net.TCPConn) {
		defer c.Close()
		<-begin
		n, _ := io.Copy(io.Discard, c)
		got <- n
	})
	c := r.dial(r.to("a.test", 5000))
	must.Get(c.Write(make([]byte, size)))(t)
	c.Close()
	time.AfterFunc(20*time.Millisecond, func() { close(begin) }) // while Close waits
	if e := r.end(1)[0]; e.Sent != size || e.Verdict != VerdictAllow {
		t.Errorf("%+v", e)
	}
	if t.Failed() {
		return
	}
	if n := <-got; n != size {
		t.Errorf("%d of %d bytes arrived", n, size)
	}
}

// A server that takes nothing keeps Close for a second, and no longer.
func TestCloseDoesNotWaitForever(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: []policy.Rule{{Host: "a.test", Ports: []policy.Ports{{From: 5000, To: 5000}}}}}).serve()
	end := make(chan struct{})
	defer close(end)
	r.server("a.test", 5000, func(c *net.TCPConn) { <-end; c.Close() })
	c := r.dial(r.to("a.test", 5000))
	stuck := make(chan struct{})
	go func() {
		_ = c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		_, _ = c.Write(make([]byte, 64<<20))
		close(stuck)
	}()
	<-stuck
	if e := r.end(1)[0]; e.Reason != policy.ReasonClosed {
		t.Errorf("%+v", e)
	}
}

// Connections that are not accepted yet when the jail ends have their lines.
func TestCloseReadsWhatHasArrived(t *testing.T) {
	r := newRig(t, policy.Policy{})
	const n = 8
	for range n {
		c := r.dial(netip.MustParseAddrPort("8.8.8.8:5000"))
		c.Close()
	}
	r.serve()
	r.end(n)
}

// A connection that was accepted at the very end, and not looked at, is judged like any other.
func TestCloseWaitsForWhatItHasTaken(t *testing.T) {
	r := newRig(t, policy.Policy{})
	real, taken := r.s.destination, make(chan struct{})
	r.s.destination = func(c *net.TCPConn, redirected bool) (netip.AddrPort, error) {
		close(taken)
		for !r.s.stopping.Load() {
			time.Sleep(time.Millisecond)
		}
		select {
		case <-r.s.ctx.Done(): // Close did not wait
		case <-time.After(20 * time.Millisecond):
		}
		return real(c, redirected)
	}
	r.serve()
	r.dial(netip.MustParseAddrPort("8.8.8.8:5000"))
	<-taken
	if e := r.end(1)[0]; e.Verdict != VerdictDeny || e.Reason != policy.ReasonNoRule {
		t.Errorf("%+v", e)
	}
}

// What the payload has answered on a published port goes out when it has ended.
func TestCloseSendsPublishedAnswers(t *testing.T) {
	const size = 256 << 10
	r := newRig(t, policy.Policy{})
	server, host := listenTCP(t), listenTCP(t)
	r.s.Serve(Sockets{Publish: []Published{{Listener: host, To: addrPort(server.Addr()), Conns: unconnected(t, 1)}}})
	c := must.Get(net.Dial("tcp4", host.Addr().String()))(t)
	defer c.Close()
	j := must.Get(server.AcceptTCP())(t)
	go func() {
		_, _ = j.Write(make([]byte, size))
		j.Close()
	}()
	got := make(chan int64, 1)
	time.AfterFunc(20*time.Millisecond, func() { // while Close waits
		n, _ := io.Copy(io.Discard, c)
		got <- n
	})
	if e := r.end(1)[0]; e.Sent != size || e.Verdict != VerdictAllow {
		t.Errorf("%+v", e)
	}
	if n := <-got; n != size {
		t.Errorf("%d of %d bytes arrived", n, size)
	}
}
