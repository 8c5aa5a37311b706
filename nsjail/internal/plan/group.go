package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"brig/cgroup"
	"brig/internal/program"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/ops"
	"brig/nsjail/spec"
)

// group is the jail's control group.
type group struct {
	plan      *cgroup.Plan // nil for none
	joinAt    program.Slot // the slots of its descriptors: the version 1 files, then the version 2 directory
	root      bool         // it becomes the root of the jail's cgroup namespace
	processes bool         // something but RLIMIT_NPROC is said to hold the limit on processes
	clock     bool         // RLIMIT_CPU is only the fallback of the keeper's clock
}

// decideGroup decides what the control group enforces, and what it cannot enforce on this machine.
func decideGroup(in *input, out *report) group {
	g := group{root: in.Tier == "", clock: true}
	if !host.WantsGroup(in.Spec) {
		return g
	}
	layout := in.host.Cgroup
	if layout == nil {
		layout = &cgroup.Layout{Mode: cgroup.None}
	}
	p := cgroup.Resolve(groupLimits(in, layout, out), layout)
	asked := in.Limits.Asked()
	for _, m := range spec.Mechanisms() {
		if !asked[m.Name] {
			continue
		}
		if how := groupMechanism(in, layout, p, m.Name, out); m.Name == "cpu_time" {
			g.clock = how != replaced
		}
	}
	if by := p.Enforced["processes"]; by != "" {
		if !in.NoInit {
			by += " (init is one of them)"
		}
		out.enforced["processes"] = words.Plain(by)
		p.Optional["processes"] = true // RLIMIT_NPROC is the fallback
	}
	g.processes = out.enforced["processes"] != ""
	if in.Limits.MemorySwap == 0 && in.Limits.Memory > 0 {
		impliedSwap(p, layout, out)
	}
	if p.Enforced["memory"] != "" {
		out.note(words.Plain(uncounted(in.Spec, in.host)))
		p.Optional["memory_sockets"] = !slices.Contains(in.Require, "memory_sockets")
	}
	for _, name := range in.Optional {
		p.Optional[name] = true
	}
	if len(p.Branches) > 0 {
		g.plan = p
	} else if in.CgroupParent != "" {
		out.fail(spec.CallerError("cgroup_parent", "no group can be made there: "+p.Missing["processes"],
			groupRemedy(in, layout, "processes", "")))
	}
	return g
}

// uncounted returns the note about the memory that neither a control group nor the keeper counts.
func uncounted(s *spec.Spec, h *host.Host) string {
	note := "the limit on memory does not count "
	if s.Net == spec.NetHost || !filtered(s, h) { // without brig's filter the payload may make network namespaces
		note += "messages that wait in netlink sockets outside of the jail's own network namespace, nor "
	}
	return note + "the machine code of seccomp filters that the payload loads"
}

// groupMechanism records what enforces a limit. Without a group a limit may have a fallback, or may only be implied.
func groupMechanism(in *input, layout *cgroup.Layout, p *cgroup.Plan, name string, out *report) holding {
	fallback := ""
	switch name {
	case "memory_sockets":
		fallback = "not enforced"
	case "cpu_time":
		fallback = fmt.Sprintf("RLIMIT_CPU %s for each process by itself",
			(time.Duration(in.Limits.CPUTime) + time.Second - 1).Truncate(time.Second))
	}
	by := p.Enforced[name]
	if name == "io" && strings.HasPrefix(by, "cgroup1") {
		by += " (version 1 does not see what the page cache writes back)"
	}
	if name == "cpu_time" && by != "" {
		by = time.Duration(in.Limits.CPUTime).String() + " by " + by
	}
	how, err := out.enforce(in.Spec, name, words.Plain(by), words.Plain(p.Missing[name]), words.Plain(fallback))
	if err != nil {
		out.fail(spec.HostError(GroupPath(name), "control group: "+err.Detail, groupRemedy(in, layout, name, err.Detail)))
	}
	return how
}

// GroupPath returns the path in the Spec of a mechanism's limit.
func GroupPath(mechanism string) string {
	if mechanism == "cgroup_file" {
		return "limits.cgroup"
	}
	return "limits." + mechanism
}

// groupRemedy returns how the caller can get a group below which it may create groups.
func groupRemedy(in *input, l *cgroup.Layout, name string, why spec.Text) spec.Text {
	without := words.Clause(", or accept a jail without it: " + spec.Without(name))
	scope := words.Clause("add " + words.Field("systemd_scope") + ", or ")
	switch {
	case l.Mode == cgroup.None:
		return "mount one (mount -t cgroup2 cgroup2 /sys/fs/cgroup)" + without
	case strings.HasPrefix(string(why), "version 1"):
		return "use a machine with version 2 of control groups" + without
	case l.Why == "":
		return "enable that controller" + without
	case in.CgroupParent != "":
		return "name a group that exists and is yours" + without
	case strings.Contains(l.Why, "read-only"):
		return "give the outer container a writable /sys/fs/cgroup with a cgroup namespace of its own" + without
	case l.Systemd && in.host.UID == 0:
		return scope + "start it with systemd-run --scope -p Delegate=yes brig run ..." + without
	case l.Systemd:
		return scope + "start it with systemd-run --user --scope -p Delegate=yes brig run ..." + without
	case in.host.UID == 0:
		return "start brig in a group that it may write to" + without
	}
	return "have root give you groups of your own: " + words.Plain(host.DelegateCommand(in.host.UID)) + without
}

// impliedSwap records what enforces the limit on swap that a limit on memory implies: 0.
func impliedSwap(p *cgroup.Plan, layout *cgroup.Layout, out *report) {
	switch why := p.Missing["memory_swap"]; {
	case p.Missing["memory"] != "": // without a limit on memory none on swap is implied
	case why != "" && !layout.Swap:
		out.enforced["memory_swap"] = "this machine has no swap"
	case why != "":
		out.enforced["memory_swap"] = words.Plain("not enforced: " + why)
	default:
		out.enforced["memory_swap"] = words.Plain(p.Enforced["memory_swap"])
	}
}

// groupLimits returns the Spec's limits, with device numbers and the default number of processes.
func groupLimits(in *input, layout *cgroup.Layout, out *report) *cgroup.Limits {
	l := &in.Limits
	limits := l.Group()
	for i, io := range l.IO {
		d := in.host.Devices[io.Path]
		limits.IO[i].Major, limits.IO[i].Minor = d.Major, d.Minor
	}
	named := slices.ContainsFunc(limits.Files, func(f cgroup.File) bool { return f.Name == "pids.max" })
	if !named { // otherwise the caller's value replaces the default
		limits.Processes = max(processesOf(in.Spec), 0)
	}
	available("limits.cpuset", l.CPUSet, layout.CPUs, "processors", out)
	available("limits.cpuset_mems", l.CPUSetMems, layout.Mems, "memory nodes", out)
	return limits
}

// available rejects processors and memory nodes that this machine, or the group above, does not have. Version 2 would
// accept them and use others.
func available(path, want, have, what string, out *report) {
	if missing := cgroup.Lacks(want, have); want != "" && missing != "" {
		out.fail(spec.CallerError(path, missing+" is not among the "+what+" that a jail may have here: "+have,
			"choose from those"))
	}
}

// owned reports whether the payload has the caller's uid on the host and therefore owns the files of its group. In a
// new user namespace it could mount the hierarchy and lift its limits. brig's filters refuse both.
func (g *group) owned(h *host.Host) bool { return g.plan != nil && !h.Drop }

// filtered reports whether the payload has a filter of brig's own.
func filtered(s *spec.Spec, h *host.Host) bool {
	return s.Seccomp != "unconfined" && !spec.FileProfile(s.Seccomp) && h.Missing["seccomp"] == ""
}

// keepLimits rejects a jail whose payload could lift its own limits.
func (g *group) keepLimits(in *input, out *report) {
	if filtered(in.Spec, in.host) || !g.owned(in.host) {
		return
	}
	if in.host.Missing["proc"] != "" {
		out.fail(spec.CallerError("seccomp", "a payload without brig's filter could lift its limits from a user namespace, "+
			"and without a /proc of the jail's that cannot be forbidden",
			"use the default filter, or no limit of a control group"))
	}
	out.note("the payload can make no user namespaces (user.max_user_namespaces is 0 in the jail), from " +
		"which it could lift its limits")
}

// takeSlots reserves the slots of the group's descriptors.
func (g *group) takeSlots(fds *intake) {
	if g.plan != nil {
		g.joinAt = fds.slots(len(g.plan.Branches))
	}
}

// join makes the process join its version 1 groups; clone3(2) has created it in its version 2 group. The group then
// becomes the root of the process's cgroup namespace: the namespace from clone3(2) has the group of the launcher as its
// root.
func (g *group) join(p *program.Program) {
	if g.plan == nil {
		return
	}
	ops.JoinGroups(p, g.joinAt, len(g.plan.V1Joins()))
	if g.root {
		ops.RootGroup(p)
	}
}
