package plan

import (
	"cmp"
	"fmt"

	"brig/internal/program"
	"brig/internal/words"
	"brig/netns"
	egress "brig/netns/egress/policy"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/ops"
	"brig/nsjail/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

// dialSockets is the number of connections to published ports that a jail can have at the same time.
const dialSockets = 32

// network is what the jail does for its network.
type network struct {
	own     bool // the jail has a network namespace, which it does not find ready
	lo      bool // it brings lo up
	lookups int  // the descriptor number of init's socket that hears of lookups, or 0
	sockets *netns.Sockets
}

// netOf returns the network that a Spec asks for.
func netOf(s *spec.Spec) spec.Net { return cmp.Or(s.Net, spec.NetLoopback) }

// onHostNetwork is what is enforced of the network in a jail that has the host's.
func onHostNetwork() spec.Text {
	return "not enforced: the host's network (" + words.Set("net", spec.NetHost) + ")"
}

func decideNetwork(in *input, out *report) (n network) {
	kind := netOf(in.Spec)
	switch ready := in.mode.Net && kind == spec.NetLoopback; {
	case kind == spec.NetHost:
		out.enforced["net"] = onHostNetwork()
		out.note(words.Set("net", spec.NetHost) + ": the payload reaches everything that this machine reaches, loopback " +
			"services " +
			"and abstract sockets too")
	case ready:
		out.enforced["net"] = words.Plain("new namespace, " + string(kind) + ", made ahead")
	default:
		n.own, n.lo = true, kind != spec.NetNone
		out.enforced["net"] = words.Plain("new namespace, " + string(kind))
	}
	n.lookups = lookupsFD(in.host)
	n.sockets = decideSockets(in, out)
	return n
}

// lookupsFD returns the descriptor number at which init is to have the socket that hears of lookups, or 0. A network by
// name, which has a resolver, and a jail without init have the socket too, so that all lists begin as the one made
// ahead. In a namespace of the pool, which is the launcher's, the jail may make none.
func lookupsFD(h *host.Host) int {
	if !holdsDisks(h) {
		return 0
	}
	return launcher.FDLookups
}

// holdsDisks reports whether the limit on open files lets init hold descriptors under their fixed numbers.
func holdsDisks(h *host.Host) bool {
	files := h.HardLimits["nofile"]
	return files < 0 || files >= rootfs.FirstDisk+rootfs.MaxDisks
}

// decideSockets decides which sockets of the jail's network namespace the keeper receives; nil for none.
func decideSockets(in *input, out *report) *netns.Sockets {
	if in.Net != spec.NetEgress && len(in.Publish) == 0 {
		return nil
	}
	n := &netns.Sockets{Egress: in.Net == spec.NetEgress, IPv6: in.host.IPv6}
	if len(in.Publish) > 0 {
		n.Dial = dialSockets
		out.note(words.Plain(fmt.Sprintf("published: %v", in.Publish)))
	}
	if in.Net != spec.NetEgress {
		return n
	}
	policy := in.Policy()
	if n.TCP, n.All = policy.TCPPorts(); n.All {
		n.TCP = nil // the catch-all listener accepts these connections, too
	}
	var problem *egress.Problem
	if n.UDP, problem = policy.UDPPorts(); problem != nil {
		out.fail(spec.CallerError("egress."+problem.Path, problem.Reason, problem.Fix))
	}
	out.enforced["net"] += words.Textf(": %d rules allow, %d deny, by name; every attempt passes the keeper",
		len(policy.Allow), len(policy.Deny))
	if n.All {
		out.enforced["net"] += "; all ports by an nft redirect in the namespace"
	}
	return n
}

// keepSysctl opens /proc/sys for loopback, before the other process covers it. It returns 0 without a procfs.
func keepSysctl(p *program.Program, proc program.Slot) program.Slot {
	if proc == 0 {
		return 0
	}
	return ops.OpenPath(p, "net", proc.Arg(), "sys")
}

// makeNet makes the network namespace while another process makes the root, and returns its descriptor.
func makeNet(p *program.Program) program.Slot {
	ops.Unshare(p, "net", unix.CLONE_NEWNET, "CLONE_NEWNET")
	return netns.Descriptor(p)
}

// enterNet enters the network namespace of makeNet.
func enterNet(p *program.Program, ns program.Slot) {
	ops.Setns(p, "net", ns.Arg(), unix.CLONE_NEWNET, "CLONE_NEWNET")
	p.Close("net", ns)
}

// loopback brings lo up. Without a procfs of the jail's own ports below 1024 stay closed. sysctl is what keepSysctl has
// opened, or 0.
func (n *network) loopback(p *program.Program, proc, sysctl program.Slot) {
	if !n.lo {
		return
	}
	netns.Loopback(p, n.lookups)
	switch {
	case proc == 0:
	case sysctl != 0:
		netns.FreePorts(p, sysctl.Arg(), "")
		p.Close("net", sysctl)
	default:
		netns.FreePorts(p, proc.Arg(), "sys/")
	}
}

// open opens the sockets while the first process has capabilities.
func (n *network) open(p *program.Program) {
	if n.sockets != nil {
		ops.OpenSockets(p, n.sockets)
	}
}
