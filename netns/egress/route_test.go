package egress

import (
	"net"
	"net/netip"
	"testing"
)

// The host's routing knows its own addresses, also those that no interface has.
func TestPlace(t *testing.T) {
	own := []string{"127.0.0.1", "127.9.9.9", "::1"}
	if all, err := net.InterfaceAddrs(); err == nil {
		for _, a := range all {
			if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
				own = append(own, n.IP.String())
			}
		}
	}
	for _, text := range own {
		a := plainAddr(netip.MustParseAddr(text))
		if p, err := place(a); err != nil || p != ours {
			t.Errorf("%s: %d, %v", a, p, err)
		}
	}
	if p, err := place(netip.MustParseAddr("93.184.216.34")); err != nil || p != elsewhere {
		t.Errorf("a public address: %d, %v", p, err)
	}
	if p, err := place(netip.MustParseAddr("255.255.255.255")); err == nil && p == elsewhere {
		t.Error("the broadcast address is somewhere else")
	}
}
