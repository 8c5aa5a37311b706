package egress

import (
	"encoding/json"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/netns/egress/policy"
	"brig/netns/egress/wire"
)

// The keeper asks the policy's servers, for the name itself only: no search domain, nothing before a decision.
func TestLookupsGoToThePolicysServers(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]bool{}
	dns := must.Get(net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))(t)
	defer dns.Close()
	go func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := dns.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			reply, q := wire.Answer(buf[:n], func(string) bool { return true }, func(string) (netip.Addr, bool) { return public, true })
			mu.Lock()
			asked[q.Name] = true
			mu.Unlock()
			_, _ = dns.WriteToUDPAddrPort(reply, from)
		}
	}()
	p := &policy.Policy{Allow: rules("tcp://a.test:5000"), DNS: []string{dns.LocalAddr().String()}}
	s := must.Get(New(Config{Policy: p}))(t)
	s.dialer.place = ownedBy(public)
	s.destination = func(*net.TCPConn, bool) (netip.AddrPort, error) {
		a, _ := s.pool.addr("a.test")
		return netip.AddrPortFrom(a, 5000), nil
	}
	l := listenTCP(t)
	s.Serve(Sockets{TCP: []*net.TCPListener{l}})
	if c, err := net.Dial("tcp4", l.Addr().String()); err == nil {
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		wasReset(t, c)
		c.Close()
	}
	sum := s.Close()
	if len(sum.Recent) != 1 || sum.Recent[0].Reason != policy.ReasonOwnAddress || sum.Recent[0].Address != "93.184.216.34:5000" {
		t.Errorf("%+v", sum.Recent)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 1 || !asked["a.test"] {
		t.Errorf("%v", asked)
	}
}

func TestOwnAddressesMustBeWrittenOut(t *testing.T) {
	p := &policy.Policy{Allow: rules("10.1.2.0/24:22", "10.1.2.5/32:80", "udp://10.1.2.5:123")}
	m := must.Get(p.Compile())(t)
	d := newDialer(p, m)
	d.place = ownedBy(netip.MustParseAddr("10.1.2.5"))
	for _, c := range []struct {
		to   string
		udp  bool
		want policy.Reason
	}{
		{"10.1.2.4:22", false, ""},
		{"10.1.2.5:22", false, policy.ReasonOwnAddress},
		{"10.1.2.5:80", false, ""},
		{"10.1.2.5:80", true, policy.ReasonOwnAddress},
		{"10.1.2.5:123", true, ""},
		{"127.0.0.1:22", false, policy.ReasonOwnAddress},
		{"0.0.0.0:22", false, policy.ReasonOwnAddress},
		{"169.254.169.254:22", false, policy.ReasonMetadata},
	} {
		if got := d.vetAddr(netip.MustParseAddrPort(c.to), c.udp); got != c.want {
			t.Errorf("%s: %q, not %q", c.to, got, c.want)
		}
	}
}

func FuzzTap(f *testing.F) {
	f.Add(packet(6, "8.8.8.8", 81, 1, 2))
	f.Add(packet(17, "8.8.8.8", 81, 1, 2))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := parseTap4(b); ok && (!p.to.Addr().Is4() || p.proto != 6 && p.proto != 17) {
			t.Errorf("%x: %+v", b, p)
		}
		if p, ok := parseTransport(6, netip.Addr{}, netip.Addr{}, b); ok && b[13]&2 == 0 {
			t.Errorf("%x: %+v", b, p)
		}
		askedAddr(b)
	})
}

func FuzzLine(f *testing.F) {
	for _, s := range []string{"", "a.test", "\n", "\\n", "\xff\u202e\x00", strings.Repeat(`"`, 500)} {
		f.Add(s, 300)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 20 + limit&0x1ff
		got := printable(s, limit)
		quoted, err := json.Marshal(got)
		if err != nil || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q: %q", s, got)
		}
		cost := len(got) + strings.Count(got, `"`) + strings.Count(got, `\`)
		if cost > limit || len(quoted) < cost {
			t.Errorf("%q: %q costs %d of %d", s, got, cost, limit)
		}
	})
}
