package plan

import (
	"brig/internal/program"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/ops"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

// phase is one part of the program of a jail.
type phase struct {
	name  string
	by    worker
	known knowledge
	// shared means that all processes of a box perform it in the same way.
	shared bool
	// in reports whether the program of a shape has the phase; nil means always.
	in func(*shape) bool
	// needs are the phases that must have ended before this one, if the program has them.
	needs []string
	// write appends the operations, or none if the jail does not need them. It reads what is decided for the phase, and
	// the slots of those that it needs.
	write func(*writer, *decisions)
}

// phases is the sequence of phases, each after those that it needs. derive computes each process's steps from it.
var phases = []phase{
	// the first, since a process in a control group of root's has the launcher's capabilities: spawn.c
	{name: "privileges", in: isProcess, write: func(w *writer, _ *decisions) { ops.DropCapabilities(w.Program) }},
	{name: "procfs", in: hasNamespaces, write: func(w *writer, d *decisions) { w.proc = d.tree.procfs(w.Program) }},
	// the process that makes the tree takes the procfs, while the other one brings lo up
	{name: "sysctl", in: makesNet, needs: []string{"procfs"},
		write: func(w *writer, _ *decisions) { w.sysctl = keepSysctl(w.Program, w.proc) }},
	{name: "session", write: func(w *writer, d *decisions) { d.session.begin(w.Program) }},
	// for the fixed descriptor numbers, while a single process uses the table
	{name: "fd table", in: sideBySide,
		write: func(w *writer, _ *decisions) { rootfs.Widen(w.Program, launcher.SlotReport) }},
	{name: "netns", by: netMaker, in: makesNet, write: func(w *writer, _ *decisions) { w.net = makeNet(w.Program) }},
	{name: "lo", in: hasNamespaces, by: netMaker, needs: []string{"netns", "procfs", "sysctl", "fd table"},
		write: func(w *writer, d *decisions) { d.net.loopback(w.Program, w.proc, w.sysctl) }},
	{name: "bounding set", in: hasNamespaces, write: func(w *writer, d *decisions) {
		ops.DropBounding(w.Program, d.lastCap, 0)
		ops.LockCapabilities(w.Program)
	}},
	{name: "identity", in: hasNamespaces, needs: []string{"procfs"},
		write: func(w *writer, d *decisions) { d.identity.write(w.Program, w.proc) }},
	{name: "oom score", needs: []string{"procfs"}, write: func(w *writer, _ *decisions) { oomScore(w.Program, w.proc) }},
	// overlays of the caller's mounts on an image in a prepared root need a procfs
	{name: "image procfs", in: inPreparedImage, needs: []string{"identity"}, write: func(w *writer, d *decisions) {
		if len(d.own) > 0 {
			rootfs.ProcOver(w.Program)
		}
	}},
	{name: "group", in: notAhead, needs: []string{"identity"}, write: joinGroup},
	{name: "root", in: hasNamespaces, by: treeMaker, needs: []string{"procfs", "identity"},
		write: func(w *writer, d *decisions) { w.tree = d.tree.begin(w.Program, w.proc, d.own) }},
	// before the program is known, if nothing that follows needs the host's tree: the kernel takes its time (RCU)
	{name: "early pivot", in: leavesEarly, by: treeMaker, needs: []string{"root"}, write: pivot},
	// after the phases that the pre-forked process performs; the group is created later
	{name: "late group", in: madeAhead, needs: []string{"identity"}, write: joinGroup},
	{name: "detach", in: hasNamespaces, by: treeMaker, needs: []string{"root"},
		write: func(w *writer, d *decisions) { detachMounts(w.Program, d.cycle) }},
	{name: "system", in: hasNamespaces, by: treeMaker, needs: []string{"root"},
		write: func(w *writer, d *decisions) { d.tree.rest(w.tree) }},
	{name: "mounts", in: hasNamespaces, by: treeMaker, known: withMounts, needs: []string{"system"},
		write: func(w *writer, d *decisions) {
			w.tree.Add(d.own)
			passUppers(w.Program, w.tree)
		}},
	{name: "pivot", in: leavesLate, by: treeMaker, needs: []string{"system"}, write: pivot},
	{name: "names", in: hasNamespaces, by: treeMaker, needs: []string{"identity"},
		write: func(w *writer, d *decisions) { d.identity.names(w.Program) }},
	{name: "sockets", in: hasNamespaces, by: netMaker, needs: []string{"lo"},
		write: func(w *writer, d *decisions) { d.net.open(w.Program) }},
	{name: "seal", in: hasNamespaces, by: treeMaker, needs: []string{"mounts", "early pivot", "pivot"},
		write: func(w *writer, _ *decisions) {
			w.tree.Seal()
			ops.Umask(w.Program)
		}},
	// the jail must not read init's memory, which is the launcher's: ptrace(2) PTRACE_MODE_READ
	{name: "hide init", by: treeMaker, in: hasInit, needs: []string{"seal"},
		write: func(w *writer, _ *decisions) { ops.Dumpable(w.Program, "init", 0) }},
	// by the process that makes the tree, so that the filter is loaded meanwhile
	{name: "ruleset", by: treeMaker, known: withMounts, needs: []string{"seal"},
		write: func(w *writer, d *decisions) { w.ruleset = d.domain.create(w.Program) }},
	{name: "enter netns", by: treeMaker, in: makesNet, needs: []string{"netns", "seal"},
		write: func(w *writer, _ *decisions) { enterNet(w.Program, w.net) }},
	// init and the payload's process share the root and the working directory until the root is complete: clone(2)
	{name: "own root", by: treeMaker, in: sideBySide, needs: []string{"seal", "enter netns"},
		write: func(w *writer, _ *decisions) { ops.Unshare(w.Program, "init", unix.CLONE_FS, "CLONE_FS") }},
	{name: "capabilities", in: hasNamespaces, by: each, needs: []string{"group", "late group", "bounding set", "lo",
		"names", "sockets", "detach", "seal", "hide init", "ruleset", "own root"},
		write: func(w *writer, _ *decisions) { ops.DropCapabilities(w.Program) }},
	{name: "init is done", by: other, in: sideBySide, needs: []string{"capabilities"},
		write: func(*writer, *decisions) {}},
	{name: "children", in: isProcess, write: func(w *writer, _ *decisions) { adopt(w.Program) }},
	{name: "init's domain", in: isProcess, needs: []string{"privileges"},
		write: func(w *writer, d *decisions) { confineInit(w.Program, d.domain.rules.ABI) }},
	{name: "fork", in: forks, needs: []string{"session", "capabilities", "children", "init's domain"},
		write: func(w *writer, d *decisions) { w.listener = d.listening.fork(w.Program, d.streams.first) }},
	// what all processes of a box share, so that they can signal each other
	{name: "serve", in: isBox, known: withRun, needs: []string{"session", "capabilities", "ruleset"},
		write: func(w *writer, d *decisions) {
			d.domain.restrict(w.Program, w.ruleset)
			w.Add("init", program.Serve, launcher.SlotReport.Arg(), program.Int(len(w.disks())))
		}},
	{name: "payload session", by: payload, shared: true, in: hasInit, needs: []string{"fork"},
		write: func(w *writer, d *decisions) { d.session.beginPayload(w.Program) }},
	// before the filter, which may forbid the calls, and with the jail's /proc
	{name: "label", by: payload, shared: true, in: isLabelled,
		needs: []string{"payload session", "seal", "own root", "init is done"},
		write: func(w *writer, d *decisions) { writeLabels(w.Program, d.labels) }},
	{name: "streams", by: payload, known: withRun, needs: []string{"payload session"},
		write: func(w *writer, d *decisions) { d.streams.write(w.Program) }},
	{name: "limits", by: payload, shared: true, known: withRun, needs: []string{"group", "late group"},
		write: func(w *writer, d *decisions) { writeRlimits(w.Program, d.limits) }},
	{name: "workdir", by: payload, known: withRun, needs: []string{"init is done"},
		write: func(w *writer, d *decisions) { d.command.chdir(w.Program) }},
	{name: "descriptors", by: payload, known: withRun, needs: []string{"streams"},
		write: func(w *writer, _ *decisions) { closeOnExec(w.Program) }},
	{name: "processes", by: payload, shared: true, known: withRun, needs: []string{"limits"},
		write: func(w *writer, d *decisions) { writeRlimits(w.Program, d.processes) }},
	{name: "landlock", by: payload, in: notBox, known: withRun, needs: []string{"streams", "workdir"},
		write: func(w *writer, d *decisions) { d.domain.enter(w.Program, w.ruleset) }},
	{name: "filter", by: payload, shared: true, known: withFilter,
		needs: []string{"capabilities", "payload session", "label"},
		write: func(w *writer, d *decisions) { d.filter.write(w.Program, w.listener) }},
	{name: "command", by: payload, known: withRun, needs: []string{"filter", "processes", "descriptors", "workdir",
		"landlock", "init is done"}, write: func(w *writer, d *decisions) { d.command.execve(w.Program) }},
}

func joinGroup(w *writer, d *decisions) { d.group.join(w.Program) }

func pivot(w *writer, _ *decisions) { w.tree.Enter() }
