package plan

import (
	"fmt"

	"brig/internal/program"
	"brig/netns"
	egress "brig/netns/egress/policy"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// dialSockets is the number of connections to published ports that a jail can have at the same time.
const dialSockets = 32

// network decides which sockets of the jail's network namespace the keeper receives.
func (r *resolver) network() {
	s := r.Spec
	if s.Net != spec.NetEgress && len(s.Publish) == 0 {
		return
	}
	r.Sockets = &netns.Sockets{Egress: s.Net == spec.NetEgress, IPv6: r.Host.IPv6}
	if len(s.Publish) > 0 {
		r.Sockets.Dial = dialSockets
		r.Notes = append(r.Notes, fmt.Sprintf("published: %v", s.Publish))
	}
	if s.Net != spec.NetEgress {
		return
	}
	policy := s.Policy()
	if r.Sockets.TCP, r.Sockets.All = policy.TCPPorts(); r.Sockets.All {
		r.Sockets.TCP = nil // the catch-all listener accepts these connections, too
	}
	var problem *egress.Problem
	if r.Sockets.UDP, problem = policy.UDPPorts(); problem != nil {
		r.fail(spec.CallerError("egress."+problem.Path, problem.Reason, problem.Fix))
	}
	r.Enforced["net"] += fmt.Sprintf(": %d rules allow, %d deny, by name; every attempt passes the keeper",
		len(policy.Allow), len(policy.Deny))
	if r.Sockets.All {
		r.Enforced["net"] += "; all ports by an nft redirect in the namespace"
	}
}

// openSockets makes the jail's first process open the sockets while it has capabilities, and send them to the keeper.
func (r *resolver) openSockets() {
	if r.Sockets != nil {
		OpenSockets(r.Jail, r.Sockets)
	}
}

// OpenSockets appends the operations that open the sockets and send them to the keeper.
func OpenSockets(p *program.Program, s *netns.Sockets) {
	s.Open(p, host.FdSockets)
	n := len(s.List())
	fds := make([]int, n)
	for i := range fds {
		fds[i] = host.FdSockets + i
	}
	send(p, "net", launcher.SlotReport, 0, fmt.Sprintf("[%d sockets]", n), fds...)
	p.Add("net", unix.SYS_CLOSE_RANGE, program.Int(host.FdSockets), program.Int(host.FdSockets+n-1), program.Int(0))
}
