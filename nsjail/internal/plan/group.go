package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"brig/cgroup"
	"brig/internal/program"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// group plans the jail's control group: what it enforces, and what it cannot enforce on this machine.
func (r *resolver) group() {
	if !host.WantsGroup(r.Spec) {
		return
	}
	if r.layout = r.Host.Cgroup; r.layout == nil {
		r.layout = &cgroup.Layout{Mode: cgroup.None}
	}
	p := cgroup.Resolve(r.groupLimits(), r.layout)
	asked := r.Spec.Limits.Asked()
	for _, m := range spec.Mechanisms() {
		if asked[m.Name] {
			r.groupMechanism(m.Name, p)
		}
	}
	if by := p.Enforced["processes"]; by != "" {
		if !r.Spec.NoInit {
			by += " (init is one of them)"
		}
		r.Enforced["processes"] = by
		p.Optional["processes"] = true // RLIMIT_NPROC is the fallback
	}
	if r.Spec.Limits.MemorySwap == 0 && r.Spec.Limits.Memory > 0 {
		r.impliedSwap(p)
	}
	if p.Enforced["memory"] != "" {
		r.Notes = append(r.Notes, uncounted(r.Spec, r.Host))
		p.Optional["memory_sockets"] = !slices.Contains(r.Spec.Require, "memory_sockets")
	}
	for _, name := range r.Spec.Optional {
		p.Optional[name] = true
	}
	if len(p.Branches) == 0 {
		if r.Spec.CgroupParent != "" {
			r.fail(spec.CallerError("cgroup_parent", "no group can be made there: "+p.Missing["processes"],
				r.groupRemedy("processes", "")))
		}
		return
	}
	r.Group = p
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
func (r *resolver) groupMechanism(name string, p *cgroup.Plan) {
	fallback := ""
	switch name {
	case "memory_sockets":
		fallback = "not enforced"
	case "cpu_time":
		fallback = fmt.Sprintf("RLIMIT_CPU %s for each process by itself",
			(time.Duration(r.Spec.Limits.CPUTime) + time.Second - 1).Truncate(time.Second))
	}
	by := p.Enforced[name]
	if name == "io" && strings.HasPrefix(by, "cgroup1") {
		by += " (version 1 does not see what the page cache writes back)"
	}
	if name == "cpu_time" && by != "" {
		by = time.Duration(r.Spec.Limits.CPUTime).String() + " by " + by
	}
	if _, err := r.enforce(name, by, p.Missing[name], fallback); err != nil {
		r.fail(spec.HostError(GroupPath(name), "control group: "+err.Detail, r.groupRemedy(name, err.Detail)))
	}
}

// GroupPath returns the path in the Spec of a mechanism's limit.
func GroupPath(mechanism string) string {
	if mechanism == "cgroup_file" {
		return "limits.cgroup"
	}
	return "limits." + mechanism
}

// groupRemedy returns how the caller can get a group below which it may create groups.
func (r *resolver) groupRemedy(name, why string) string {
	l := r.layout
	without := ", or accept a jail without it: --optional " + name
	switch {
	case l.Mode == cgroup.None:
		return "mount one (mount -t cgroup2 cgroup2 /sys/fs/cgroup)" + without
	case strings.HasPrefix(why, "version 1"):
		return "use a machine with version 2 of control groups" + without
	case l.Why == "":
		return "enable that controller" + without
	case r.Spec.CgroupParent != "":
		return "name a group that exists and is yours" + without
	case strings.Contains(l.Why, "read-only"):
		return "give the outer container a writable /sys/fs/cgroup with a cgroup namespace of its own" + without
	case l.Systemd && r.Host.UID == 0:
		return "add --systemd-scope, or start it with systemd-run --scope -p Delegate=yes brig run ..." + without
	case l.Systemd:
		return "add --systemd-scope, or start it with systemd-run --user --scope -p Delegate=yes brig run ..." + without
	case r.Host.UID == 0:
		return "start brig in a group that it may write to" + without
	}
	return "have root give you groups of your own: " + host.DelegateCommand(r.Host.UID) + without
}

// impliedSwap records what enforces the limit on swap that a limit on memory implies: 0.
func (r *resolver) impliedSwap(p *cgroup.Plan) {
	switch why := p.Missing["memory_swap"]; {
	case p.Missing["memory"] != "": // without a limit on memory none on swap is implied
	case why != "" && !r.layout.Swap:
		r.Enforced["memory_swap"] = "this machine has no swap"
	case why != "":
		r.Enforced["memory_swap"] = "not enforced: " + why
	default:
		r.Enforced["memory_swap"] = p.Enforced["memory_swap"]
	}
}

// groupLimits returns the Spec's limits, with device numbers and the default number of processes.
func (r *resolver) groupLimits() *cgroup.Limits {
	l := &r.Spec.Limits
	out := l.Group()
	for i, io := range l.IO {
		d := r.Host.Devices[io.Path]
		out.IO[i].Major, out.IO[i].Minor = d.Major, d.Minor
	}
	named := slices.ContainsFunc(out.Files, func(f cgroup.File) bool { return f.Name == "pids.max" })
	if !named { // otherwise the caller's value replaces the default
		out.Processes = max(r.processes(), 0)
	}
	r.available("limits.cpuset", l.CPUSet, r.layout.CPUs, "processors")
	r.available("limits.cpuset_mems", l.CPUSetMems, r.layout.Mems, "memory nodes")
	return out
}

// available rejects processors and memory nodes that this machine, or the group above, does not have. Version 2 would
// accept them and use others.
func (r *resolver) available(path, want, have, what string) {
	if missing := cgroup.Lacks(want, have); want != "" && missing != "" {
		r.fail(spec.CallerError(path, missing+" is not among the "+what+" that a jail may have here: "+have,
			"choose from those"))
	}
}

// processes returns the limit on processes, init included; a negative value means no limit.
func (r *resolver) processes() int64 {
	n := cmp.Or(r.Spec.Limits.Processes, spec.DefaultProcesses)
	if n > 0 && !r.Spec.NoInit {
		n++
	}
	return n
}

// ownsGroup reports whether the payload has the caller's uid on the host and therefore owns the files of its group. In
// a new user namespace it could mount the hierarchy and lift its limits. brig's filters refuse both.
func (r *resolver) ownsGroup() bool { return r.Group != nil && !r.Host.Drop }

// filtered reports whether the payload has a filter of brig's own.
func filtered(s *spec.Spec, h *host.Host) bool {
	return s.Seccomp != "unconfined" && !spec.FileProfile(s.Seccomp) && h.Missing["seccomp"] == ""
}

// keepLimits rejects a jail whose payload could lift its own limits.
func (r *resolver) keepLimits() {
	if filtered(r.Spec, r.Host) || !r.ownsGroup() {
		return
	}
	if r.Host.Missing["proc"] != "" {
		r.fail(spec.CallerError("seccomp", "a payload without brig's filter could lift its limits from a user namespace, "+
			"and without a /proc of the jail's that cannot be forbidden",
			"use the default filter, or no limit of a control group"))
	}
	r.Notes = append(r.Notes, "the payload can make no user namespaces (user.max_user_namespaces is 0 in the jail), from "+
		"which it could lift its limits")
}

// groupSlots reserves the slots of the control group's descriptors: the version 1 files, then the version 2 directory.
func (r *resolver) groupSlots() {
	if r.Group == nil {
		return
	}
	r.JoinAt = r.slots(len(r.Group.Branches))
}

// joinGroup makes the process join its version 1 groups by a write to each file, which takes 15 microseconds. The
// keeper has opened the files, and its permissions apply (cgroups(7)). clone3(2) has created the process in its version
// 2 group. The group then becomes the root of the process's cgroup namespace (cgroup_namespaces(7)): the namespace from
// clone3(2) has the group of the launcher as its root.
func (r *resolver) joinGroup() {
	if r.Group == nil {
		return
	}
	p := r.Jail
	for i := range r.Group.V1Joins() {
		p.Add("cgroup", unix.SYS_WRITE, (r.JoinAt + program.Slot(i)).Arg(), program.Str("0"), program.Int(1))
	}
	if r.shape.noNamespaces {
		return
	}
	p.Add("cgroup", unix.SYS_UNSHARE, program.Named(unix.CLONE_NEWCGROUP, "CLONE_NEWCGROUP"))
}
