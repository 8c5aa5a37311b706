package plan

import (
	"strings"
	"testing"

	"brig/internal/program"
	egress "brig/netns/egress/policy"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/rootfs"
)

// allowing makes the network one by name, with a policy.
func allowing(p egress.Policy) func(*spec.Spec, *host.Host, *Mode) {
	return func(s *spec.Spec, h *host.Host, _ *Mode) { s.Net, s.Egress, h.IPv6 = spec.NetEgress, &p, true }
}

// The keeper receives a socket for each port that the policy may need, one for all where they are too many, and some
// for the published ports. Port 53 is the jail's own resolver.
func TestDecideSockets(t *testing.T) {
	ports := func(from, to uint16) []egress.Ports { return []egress.Ports{{From: from, To: to}} }
	publish := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Publish = []string{"8080:80"} }
	for name, c := range map[string]struct {
		in                *input
		tcp, udp, dial    int
		all, egress, none bool
		text, op          string
		notes             int
	}{
		"none":         {in: asked(), none: true},
		"published":    {in: asked(publish), dial: dialSockets, notes: 1},
		"two ports":    {in: asked(allowing(egress.Policy{Allow: []egress.Rule{{Host: "a.example"}}})), tcp: 2, egress: true, text: ": 1 rules allow, 0 deny, by name; every attempt passes the keeper"},
		"many ports":   {in: asked(allowing(egress.Policy{Allow: []egress.Rule{{Host: "a.example"}, {Host: "b.example", Ports: ports(1, 5000)}}})), all: true, egress: true, text: "; all ports by an nft redirect in the namespace"},
		"a redirect":   {in: asked(allowing(egress.Policy{Redirect: true, Allow: []egress.Rule{{Host: "a.example"}}})), all: true, egress: true, text: "; all ports by an nft redirect in the namespace"},
		"UDP":          {in: asked(allowing(egress.Policy{Allow: []egress.Rule{{CIDR: "192.0.2.1", Mode: egress.ModeUDP, Ports: ports(123, 124)}}})), udp: 2, egress: true, text: ": 1 rules allow"},
		"the resolver": {in: asked(allowing(egress.Policy{Allow: []egress.Rule{{CIDR: "192.0.2.1", Mode: egress.ModeUDP, Ports: ports(53, 54)}}})), egress: true, op: "egress.allow[0].ports"},
		"too many UDP": {in: asked(allowing(egress.Policy{Allow: []egress.Rule{{CIDR: "192.0.2.1", Mode: egress.ModeUDP, Ports: ports(100, 200)}}})), egress: true, op: "egress.allow[0].ports"},
		"both": {in: asked(allowing(egress.Policy{Deny: []egress.Rule{{Host: "b.example"}}}), publish), dial: dialSockets, egress: true, notes: 1,
			text: ": 0 rules allow, 1 deny"},
	} {
		out := newReport()
		s := decideSockets(c.in, &out)
		if (s == nil) != c.none || op(out.err) != c.op || !strings.Contains(out.enforced["net"].String(), c.text) || len(out.notes) != c.notes {
			t.Errorf("%s: %+v, %q, %q, %v", name, s, out.enforced["net"], out.notes, out.err)
		}
		if s == nil {
			continue
		}
		if len(s.TCP) != c.tcp || len(s.UDP) != c.udp || s.Dial != c.dial || s.All != c.all || s.Egress != c.egress || s.IPv6 != c.egress {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// Init has descriptors at fixed numbers if the limit lets it.
func TestLookupsFD(t *testing.T) {
	for files, holds := range map[int64]bool{-1: true, rootfs.FirstDisk + rootfs.MaxDisks: true, rootfs.FirstDisk + rootfs.MaxDisks - 1: false, 0: false} {
		h := ordinaryHost()
		h.HardLimits["nofile"] = files
		if holdsDisks(h) != holds || (lookupsFD(h) != 0) != holds {
			t.Errorf("%d files: %d", files, lookupsFD(h))
		}
	}
}

// Ports below 1024 are open where the jail has a procfs: its own, or what was kept of it while the root was made.
func TestLoopback(t *testing.T) {
	for name, c := range map[string]struct {
		lo           bool
		proc, sysctl program.Slot
		none         bool
		path         string
	}{
		"none":             {false, 5, 6, true, ""},
		"without a procfs": {true, 0, 0, false, ""},
		"its own":          {true, 5, 0, false, `$5, "sys/net/ipv4/ip_unprivileged_port_start"`},
		"what was kept":    {true, 5, 6, false, `$6, "net/ipv4/ip_unprivileged_port_start"`},
	} {
		p := program.NewAt(2, 10)
		n := network{lo: c.lo}
		n.loopback(p, c.proc, c.sysctl)
		text := p.String()
		if (len(p.Ops) == 0) != c.none || !strings.Contains(text, c.path) || c.path == "" && strings.Contains(text, "port_start") {
			t.Errorf("%s:\n%s", name, text)
		}
		allNamed(t, name, p)
	}
	if keepSysctl(program.New(2), 0) != 0 {
		t.Error("a jail without a procfs keeps some of it")
	}
}
