package plan

import (
	"brig/internal/program"
	"brig/internal/words"
	"brig/nsjail/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

// decisions are all that is decided for a jail before the first operation is written: one value for each subject, made
// by one function. A phase reads those of its name.
type decisions struct {
	session   session
	identity  identity
	net       network
	group     group
	lastCap   int // the highest capability to drop
	tree      tree
	own       []rootfs.Entry // the caller's mounts
	layers    layers
	domain    domain
	labels    []execLabel
	listening listening
	filter    filter
	streams   streams
	limits    []rlimit
	processes []rlimit
	command   command
	cycle     program.Slot // the first of the two sockets of detachMounts, or 0
	shape     shape
}

// decide decides what depends neither on the caller's mounts nor on the run.
func decide(in *input, fds *intake, out *report) *decisions {
	d := &decisions{session: decideSession(in, out), lastCap: in.host.LastCap}
	if in.Tier == spec.TierProcess {
		d.domain = decideTier(in, out)
		d.group = decideGroup(in, out)
		tierNotes(in, out)
		return d
	}
	d.identity = decideIdentity(in, out)
	d.net = decideNetwork(in, out)
	d.group = decideGroup(in, out)
	d.group.keepLimits(in, out)
	d.identity.closed = d.group.owned(in.host)
	d.tree = decideTree(in, fds, out)
	d.layers = d.tree.layers
	d.domain = decideLandlock(in, out)
	d.labels = decideLabels(in, out)
	out.enforced["init"] = "brig's init is pid 1"
	if in.NoInit {
		out.enforced["init"] = "not enforced: the payload is pid 1 (" + words.Set("no_init", true) + ")"
	}
	return d
}

// decideShape decides the order of the phases.
func (d *decisions) decideShape(in *input) {
	d.shape = shapeOf(in, d.tree.leavesEarly(in, d.own), len(d.labels) > 0, d.net.sockets != nil)
}

// decideMounts decides the caller's mounts, and what the payload may do there.
func (d *decisions) decideMounts(in *input, fds *intake, out *report) {
	d.own, d.layers = decideMounts(in, d.tree.layers, fds, out)
	if d.domain.rules.ABI != 0 {
		d.domain.rules.Paths = landlockPaths(in.Spec, &d.tree.root, d.own)
	}
}

// decideRun decides what only the run tells.
func (d *decisions) decideRun(in *input, out *report) {
	d.limits = decideRlimits(in, &d.group, out)
	d.processes = decideProcesses(in, &d.group, out)
	if !d.shape.filterFirst {
		d.filter = decideFilter(in, d.listening.heard, false, out)
	}
	if !in.mode.Box {
		d.command = decideCommand(in)
	}
}

// flags returns the flags of clone3(2).
func (d *decisions) flags() uint64 {
	switch {
	case d.shape.noNamespaces:
		return 0
	case d.net.own && !d.shape.makesNet:
		return namespaces | unix.CLONE_NEWNET
	}
	return namespaces
}

// plan returns the Plan of what is decided, and of what w has written.
func (d *decisions) plan(in *input, fds *intake, out *report, w *writer) *Plan {
	return &Plan{Spec: in.Spec, Host: in.host, Mode: *in.mode, Flags: d.flags(), Drop: DropFor(in.host), Jail: w.Program,
		Passed: fds.passed, Group: d.group.plan, JoinAt: d.group.joinAt, Env: d.command.env, Exec: d.command.paths(),
		Wall: wall(in.Spec), Enforced: out.enforced, Notes: out.notes, Disks: w.disks(), Stdio: d.streams.first,
		Cycle: d.cycle, Uppers: d.layers.sent, Sockets: d.net.sockets, Heard: d.listening.heard}
}
