package load

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"

	"brig/cmd/brig-bench/internal/peers"
)

// serve answers on a loopback address of the test's own.
func serve(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serveNet(l) }()
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
	to, c := serve(t), begin(t, Config{})
	for _, tt := range []struct {
		r     Request
		times int
	}{
		{Request{Op: "net-down", N: 3<<20 + 1}, 1}, {Request{Op: "net-up", N: 3<<20 + 1}, 1}, {Request{Op: "net-down"}, 1}, {Request{Op: "net-up"}, 1},
		{Request{Op: "net-dial", N: 3}, 3}, {Request{Op: "net-connect", N: 3}, 3},
		{Request{Op: "net-hold", N: 1}, 0}, {Request{Op: "net-hold", N: 5}, 0},
	} {
		tt.r.Arg = to
		reply, err := c.Ask(tt.r)
		if err != nil || len(reply.Nanos) != tt.times {
			t.Errorf("%+v: %+v, %v", tt.r, reply, err)
		}
		for _, ns := range reply.Nanos {
			if ns <= 0 {
				t.Errorf("%+v took %d ns", tt.r, ns)
			}
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// Nobody listens at port 1: each operation reports it.
func TestNetSaysWhyNot(t *testing.T) {
	c := begin(t, Config{})
	for _, op := range []string{"net-down", "net-up", "net-dial", "net-connect", "net-hold"} {
		if _, err := c.Ask(Request{Op: op, Arg: "127.0.0.1:1", N: 1}); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: %v", op, err)
		}
	}
	if _, err := c.Ask(Request{Op: "net-dial", Arg: "nowhere", N: 1}); err == nil {
		t.Error("an address that is none is taken")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// A connection that ends early is no transfer.
func TestReceiveWantsAll(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Read(make([]byte, 9))
			_, _ = c.Write(make([]byte, 10))
			c.Close()
		}
	}()
	if _, err := transfer(Request{Op: "net-down", Arg: l.Addr().String(), N: 11}); err == nil || !strings.Contains(err.Error(), "1 bytes early") {
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

// inArena starts an arena, or skips where namespaces may not be made.
func inArena(t *testing.T) *Client {
	t.Helper()
	c, err := Self(context.Background(), Config{Arena: true, Brig: "/no/brig", Scratch: t.TempDir()})
	if err != nil {
		t.Skipf("no network namespace may be made here: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestArena(t *testing.T) {
	c := inArena(t)
	for _, r := range []Request{{Op: "net-down", N: 1 << 20}, {Op: "net-connect", N: 2}, {Op: "net-end"}, {Op: "net-end"}, {Op: "net-up", N: 1 << 20}} {
		r.In, r.Arg = peers.Direct, peers.Server
		if _, err := c.Ask(r); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	for _, tt := range []struct {
		r    Request
		want string
	}{
		{Request{In: "nowhere", Op: "net-down"}, `no tool "nowhere"`}, {Request{In: peers.Egress, Op: "net-down"}, "--brig"},
		{Request{Op: "run", Arg: peers.Egress, N: 1}, "--brig"}, {Request{In: peers.Direct, Op: "net-relay"}, "nothing relays"},
		{Request{In: peers.Direct, Op: "net-dial", Arg: "127.0.0.1:1", N: 1}, "net-dial: connect: connection refused"},
	} {
		if _, err := c.Ask(tt.r); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v, want %q in one line", tt.r, err, tt.want)
		}
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if host, _, _ := strings.Cut(peers.Server, ":"); strings.HasPrefix(a.String(), host+"/") {
			t.Errorf("the caller's network has the arena's address: %v", addrs)
		}
	}
}

// Each relay that is installed reaches the server, has a size, and ends.
func TestArenaRelays(t *testing.T) {
	h := &peers.Host{Dir: t.TempDir(), Brig: "/no/brig", Root: os.Geteuid() == 0}
	for _, r := range peers.Relays(h) {
		if r.Info.Name == peers.Direct || r.Info.Absent != "" {
			continue
		}
		t.Run(r.Info.Name, func(t *testing.T) {
			c := inArena(t)
			ask := func(op string, n int) Reply {
				t.Helper()
				reply, err := c.Ask(Request{In: r.Info.Name, Op: op, Arg: peers.Server, N: n})
				if err != nil {
					t.Fatalf("%s: %v", op, err)
				}
				return reply
			}
			ask("net-down", 1<<20)
			ask("net-hold", 3)
			if reply := ask("net-relay", 0); reply.Held < 10<<10 {
				t.Errorf("it holds %d bytes", reply.Held)
			}
			ask("net-end", 0)
			for _, name := range []string{r.Info.Name, r.Without.Info.Name} {
				if reply, err := c.Ask(Request{Op: "run", Arg: name, N: 1}); err != nil || reply.Nanos[0] <= 0 {
					t.Errorf("a start with %s: %+v, %v", name, reply, err)
				}
			}
		})
	}
}
