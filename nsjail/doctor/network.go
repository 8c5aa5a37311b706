package doctor

import (
	"brig/internal/words"
	"brig/nsjail/spec"
)

// checkEgress reports whether jails can have NetEgress. It sends nothing.
func checkEgress(t *Trials) (state State, why, fix spec.Text) {
	allow := words.Field("egress.allow")
	switch {
	case !t.Egress.Tried:
		return "", "", ""
	case !t.Egress.Works():
		return Partial, "no network of named destinations (" + allow + "): " + words.Message(t.Egress.Err), ""
	case !t.EveryPort.Works():
		return Partial, "a jail can have a network of named destinations (" + allow +
			"); a policy for every port (NAME:*) needs " +
			"nf_tables with NAT, which this kernel does not give", "modprobe nft_redir nft_chain_nat as root"
	}
	return Present, "a jail can have a network of named destinations (" + allow + "), at every port, too", ""
}
