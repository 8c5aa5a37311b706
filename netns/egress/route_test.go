package egress

import (
	"net"
	"net/netip"
	"testing"

	"brig/netns/egress/policy"
)

// The host's routing knows its own addresses, also those that no interface has.
func TestPlace(t *testing.T) {
	own := []string{"127.0.0.1", "127.9.9.9", "::1", "0.0.0.0"}
	if all, err := net.InterfaceAddrs(); err == nil {
		for _, a := range all {
			if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
				own = append(own, n.IP.String())
			}
		}
	}
	for _, text := range own {
		a := netip.MustParseAddr(text).Unmap().WithZone("")
		if r := place(a); r != policy.ReasonOwnAddress {
			t.Errorf("%s: %q", a, r)
		}
	}
	if r := place(netip.MustParseAddr("93.184.216.34")); r != policy.ReasonNone {
		t.Errorf("a public address: %q", r)
	}
	if place(netip.MustParseAddr("255.255.255.255")) == policy.ReasonNone {
		t.Error("the broadcast address is somewhere else")
	}
}
