package egress

import (
	"net/netip"
	"strconv"
	"sync"
	"testing"

	"brig/netns/egress/policy"
)

func TestPool(t *testing.T) {
	p := newPool()
	seen := map[netip.Addr]string{}
	for i := range maxNames {
		name := strconv.Itoa(i) + ".example"
		a, ok := p.addr(name)
		if !ok || seen[a] != "" || !synthetic(a) || policy.Blocked(a) != "benchmark" {
			t.Fatalf("name %d: %v, %v, before that %q", i, a, ok, seen[a])
		}
		seen[a] = name
	}
	if a, ok := p.addr("one.more.example"); ok || a.IsValid() || len(p.addrs) != maxNames {
		t.Errorf("a full pool of %d gives %v, %v", len(p.addrs), a, ok)
	}
	if a, ok := p.addr("7.example"); !ok || seen[a] != "7.example" {
		t.Errorf("a full pool has forgotten: %v, %v", a, ok)
	}
	for a, name := range seen {
		mapped := netip.AddrFrom16(a.As16())
		if got, ok := p.name(a); !ok || got != name {
			t.Fatalf("name(%v) = %q, %v", a, got, ok)
		}
		if got, ok := p.name(mapped); !ok || got != name {
			t.Fatalf("name(%v) = %q, %v", mapped, got, ok)
		}
	}
	for _, s := range []string{"198.18.0.0", "198.19.255.255", "198.19.0.1", "198.17.255.255", "198.20.0.0", "0.0.0.0", "255.255.255.255", "::", "::1", "2001:2::1"} {
		if name, ok := p.name(netip.MustParseAddr(s)); ok {
			t.Errorf("name(%s) = %q", s, name)
		}
	}
	if name, ok := p.name(netip.Addr{}); ok {
		t.Errorf("Name of no address = %q", name)
	}
	if name, ok := newPool().name(netip.MustParseAddr("198.18.0.1")); ok {
		t.Errorf("an empty pool knows %q", name)
	}
}

func TestSynthetic(t *testing.T) {
	for s, want := range map[string]bool{"198.18.0.0": true, "198.19.255.255": true, "::ffff:198.18.0.1": true, "198.17.255.255": false, "198.20.0.0": false, "::1": false} {
		if got := synthetic(netip.MustParseAddr(s)); got != want {
			t.Errorf("Synthetic(%s) = %v", s, got)
		}
	}
}

// Many ask at once, all for the same names: each name gets one address, each address is one name's.
func TestPoolConcurrent(t *testing.T) {
	const clients, each = 8, 2000
	p := newPool()
	got := make([][]netip.Addr, clients)
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := range each {
				name := strconv.Itoa((i*7+c*13)%each) + ".example"
				a, ok := p.addr(name)
				if back, known := p.name(a); !ok || !known || back != name {
					t.Errorf("%s: %v, then %q", name, a, back)
					return
				}
			}
			for i := range each {
				a, _ := p.addr(strconv.Itoa(i) + ".example")
				got[c] = append(got[c], a)
			}
		})
	}
	all.Wait()
	if len(p.addrs) != each {
		t.Errorf("the pool has %d names, not %d", len(p.addrs), each)
	}
	for c := range got {
		for i := range got[c] {
			if got[c][i] != got[0][i] {
				t.Fatalf("name %d is %v for one and %v for another", i, got[0][i], got[c][i])
			}
		}
	}
}
