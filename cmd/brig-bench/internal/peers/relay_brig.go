package peers

import "brig/cmd/brig-bench/internal/result"

// manyConnections is how many brig lets a jail have at once here: its default is lower than what is measured.
const manyConnections = "max_connections=4096"

func egress(h *Host, server string) *Relay {
	r := &Relay{Info: result.Tool{Name: Egress, Version: version(h.env(), h.Brig, "version"),
		Differs: []string{"allowed is the one address and port; --net-limit raises the bound of 256 connections at once"}}, Without: "brig run", host: h}
	if r.Info.Version == "" {
		if _, err := output(h.env(), h.Brig, "version"); err != nil {
			r.Info.Absent = err.Error() + "; build it with make build, or name it with --brig"
		}
	}
	r.jail = func(network bool, j Job) []string {
		if network {
			return egressArgs(h.Brig, server, j)
		}
		return brigArgs(h.Brig, j)
	}
	return r
}

// egressArgs is brig's command line for a job that may reach one server.
func egressArgs(brig, server string, j Job) []string {
	plain := brigArgs(brig, j)
	return append([]string{plain[0], plain[1], "--net", "egress", "--allow", "tcp://" + server, "--net-limit", manyConnections}, plain[2:]...)
}
