package doctor

import (
	"context"

	"brig/internal/words"
	egress "brig/netns/egress/policy"
	"brig/nsjail/spec"
)

// tryNetwork makes a jail with a network of named destinations, and one whose policy names every port.
func (f *Facts) tryNetwork(ctx context.Context) {
	f.Egress = f.try(ctx, "jail with egress", spec.Spec{Net: spec.NetEgress})
	if f.Egress.Works() {
		all := egress.Rule{CIDR: "192.0.2.1", Ports: []egress.Ports{{From: 1, To: 65535}}}
		f.EveryPort = f.try(ctx, "jail with egress at every port", spec.Spec{Net: spec.NetEgress,
			Egress: &egress.Policy{Allow: []egress.Rule{all}}})
	}
}

// egress reports whether jails can have NetEgress. It sends nothing.
func (f *Facts) egress() (state State, why, fix spec.Text) {
	allow := words.Field("egress.allow")
	switch {
	case !f.Egress.Tried:
		return "", "", ""
	case !f.Egress.Works():
		return Partial, "no network of named destinations (" + allow + "): " + words.Message(f.Egress.Err), ""
	case !f.EveryPort.Works():
		return Partial, "a jail can have a network of named destinations (" + allow +
			"); a policy for every port (NAME:*) needs " +
			"nf_tables with NAT, which this kernel does not give", "modprobe nft_redir nft_chain_nat as root"
	}
	return Present, "a jail can have a network of named destinations (" + allow + "), at every port, too", ""
}
