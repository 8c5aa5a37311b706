package listen

import (
	"net"
	"os"
	"testing"
	"time"
)

// A listener at which nobody calls holds no place: with one place, two listeners serve in turn, again and again.
func TestIdleListenersHoldNoPlace(t *testing.T) {
	b := NewBound(1)
	accepted := make(chan net.Conn)
	var at []string
	for range 2 {
		inner, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
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
		c, err := net.Dial("tcp", at[i])
		if err != nil {
			t.Fatal(err)
		}
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
