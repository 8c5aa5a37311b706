package listen

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	"brig/internal/test/must"
)

// An idle listener takes no place: with one place, two listeners can serve in turn repeatedly.
func TestIdleListenersHoldNoPlace(t *testing.T) {
	b := NewBound(1)
	accepted := make(chan net.Conn)
	var at []string
	for range 2 {
		inner := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		l := b.Listener(inner)
		t.Cleanup(func() { l.Close() })
		at = append(at, inner.Addr().String())
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				accepted <- c
			}
		}()
	}
	for _, i := range []int{1, 1, 0, 0, 1} {
		c := must.Get(net.Dial("tcp", at[i]))(t)
		select {
		case served := <-accepted:
			served.Close()
		case <-time.After(10 * time.Second):
			t.Fatalf("listener %d serves nobody", i)
		}
		c.Close()
	}
}

// far is a connection from an address.
type far struct {
	net.Conn
	addr net.Addr
}

func (f far) RemoteAddr() net.Addr { return f.addr }

func TestSource(t *testing.T) {
	at := func(s string) net.Conn { return far{addr: &net.TCPAddr{IP: net.ParseIP(s), Port: 1}} }
	for _, x := range []struct {
		a, b net.Conn
		same bool
	}{
		{at("192.0.2.1"), at("192.0.2.1"), true},
		{at("192.0.2.1"), at("192.0.2.2"), false},
		{at("192.0.2.1"), at("::ffff:192.0.2.1"), true},
		{at("127.0.0.1"), at("127.9.9.9"), true},
		{at("2001:db8::1"), at("2001:db8::ffff:2"), true},
		{at("2001:db8::1"), at("2001:db8:0:1::1"), false},
		{&local{uid: 1 << 30}, &local{uid: 1<<30 + 1}, false},
	} {
		if a, b := source(x.a), source(x.b); (a == b) != x.same || a == "" {
			t.Errorf("%q and %q", a, b)
		}
	}
	if own := source(&local{uid: os.Geteuid()}); own != "" || source(&local{}) != "" {
		t.Errorf("the owner is %q", own)
	}
}

// timed notes its deadline.
type timed struct {
	far
	at time.Time
}

func (c *timed) SetReadDeadline(t time.Time) error { c.at = t; return nil }

// A connection that has not authenticated has a few seconds; an authenticated one has the idle time of the server.
func TestStrangersHaveLittleTime(t *testing.T) {
	c := &timed{}
	b := &bounded{Conn: c, bound: NewBound(1)}
	now := time.Now()
	for _, x := range []struct{ given, least, most time.Duration }{
		{0, strangerTime, strangerTime + time.Minute}, {2 * time.Hour, strangerTime, strangerTime + time.Minute}, {time.Second, time.Second, time.Second},
	} {
		set := time.Time{}
		if x.given > 0 {
			set = now.Add(x.given)
		}
		if err := b.SetReadDeadline(set); err != nil || c.at.Before(now.Add(x.least)) || c.at.After(now.Add(x.most)) {
			t.Errorf("given %v, it has %v; %v", x.given, c.at.Sub(now), err)
		}
	}
	if Known(context.WithValue(t.Context(), connKey{}, b)); !c.at.IsZero() {
		t.Errorf("who is known still has a stranger's time: %v", c.at)
	}
	if err := b.SetReadDeadline(now.Add(time.Hour)); err != nil || !c.at.Equal(now.Add(time.Hour)) {
		t.Errorf("who is known has %v; %v", c.at, err)
	}
}
