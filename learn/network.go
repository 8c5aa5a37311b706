package learn

import (
	"net/netip"

	"brig/nsjail"
)

// synthetic are the addresses that stand for allowed names in a jail with a network by name.
var synthetic = netip.MustParsePrefix("198.18.0.0/15")

// lookup proposes a name that the payload has asked for. In a jail with a network by name an allowed one was answered,
// and in the host's network every one.
func (a *advisor) lookup(e *Event) {
	switch a.Spec.Net {
	case nsjail.NetHost:
		return
	case nsjail.NetEgress:
		if m, err := a.Spec.Policy().Compile(); err != nil || m.Knows(e.Name) {
			return
		}
		no := *e
		no.Errno = "NXDOMAIN"
		e = &no
	}
	a.propose(e, Network, e.Name, Allow, e.Name)
}

// opens reports whether the jail's network lets the payload connect to an address, so that another flag changes
// nothing.
func (a *advisor) opens(to netip.AddrPort) bool {
	if a.Spec.Net != nsjail.NetEgress {
		return a.Spec.Net == nsjail.NetHost
	}
	m, err := a.Spec.Policy().Compile()
	return err != nil || synthetic.Contains(to.Addr()) || m.Addr(to.Addr(), to.Port(), false).Allow
}
