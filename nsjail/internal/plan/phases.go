package plan

import (
	"slices"

	"brig/internal/program"
	"brig/nsjail/internal/launcher"
	"brig/rootfs"
)

// process is one of the processes that make a jail.
type process uint8

const (
	firstProcess   process = iota // created by clone3(2); it becomes init when it has forked the payload's process
	initProcess                   // init, while the payload's process works in parallel
	payloadProcess                // the child of init, which executes the command
)

// worker decides which process performs a phase. If a single process makes the jail, that is the first process, except
// for the phases of payload, which the child performs. Otherwise init and the payload's process work in parallel.
type worker uint8

const (
	first    worker = iota // the first process, before it forks
	netMaker               // init
	tree                   // init, or the payload's process if init makes the network namespace
	other                  // init
	each                   // both
	payload                // the payload's process
)

// knowledge is the time at which the operations of a phase are known.
type knowledge uint8

const (
	always     knowledge = iota
	withMounts           // always, or with the run if the mounts come later
	withFilter           // always if the filter permits all later calls, or with the run
	withRun              // only with the run
)

// phase is one part of the program of a jail.
type phase struct {
	name  string
	by    worker
	known knowledge
	// in reports whether the program of a shape has the phase; nil means always.
	in func(*shape) bool
	// needs are the phases that must have ended before this one, if the program has them.
	needs []string
	// write appends the operations, or none if the Spec does not need them.
	write func(*resolver)
}

// phases is the sequence of phases, each after those that it needs. derive computes each process's steps from it.
var phases = []phase{
	// the first, since a process in a control group of root's has the launcher's capabilities: spawn.c
	{name: "privileges", in: isProcess, write: (*resolver).dropCapabilities},
	{name: "procfs", in: hasNamespaces, write: (*resolver).procfs},
	// the process that makes the tree takes the procfs, while the other one brings lo up
	{name: "sysctl", in: makesNet, needs: []string{"procfs"}, write: (*resolver).keepSysctl},
	{name: "session", write: (*resolver).session},
	// for the fixed descriptor numbers, while a single process uses the table
	{name: "fd table", in: sideBySide, write: func(r *resolver) { rootfs.Widen(r.Jail, launcher.SlotReport) }},
	{name: "netns", by: netMaker, in: makesNet, write: (*resolver).makeNet},
	{name: "lo", in: hasNamespaces, by: netMaker, needs: []string{"netns", "procfs", "sysctl", "fd table"},
		write: (*resolver).loopback},
	{name: "bounding set", in: hasNamespaces, write: (*resolver).dropBoundingSet},
	{name: "identity", in: hasNamespaces, needs: []string{"procfs"}, write: (*resolver).identity},
	{name: "oom score", needs: []string{"procfs"}, write: (*resolver).oomScore},
	// overlays of the caller's mounts on an image in a prepared root need a procfs
	{name: "image procfs", in: inPreparedImage, needs: []string{"identity"}, write: (*resolver).imageProcfs},
	{name: "group", in: notAhead, needs: []string{"identity"}, write: (*resolver).joinGroup},
	{name: "root", in: hasNamespaces, by: tree, needs: []string{"procfs", "identity"}, write: (*resolver).beginTree},
	// before the program is known, if nothing that follows needs the host's tree: the kernel takes its time (RCU)
	{name: "early pivot", in: leavesEarly, by: tree, needs: []string{"root"}, write: (*resolver).pivot},
	// after all that a process made ahead performs: only then does its group exist
	{name: "late group", in: madeAhead, needs: []string{"identity"}, write: (*resolver).joinGroup},
	{name: "detach", in: hasNamespaces, by: tree, needs: []string{"root"}, write: (*resolver).detachMounts},
	{name: "system", in: hasNamespaces, by: tree, needs: []string{"root"},
		write: func(r *resolver) { r.tree.Add(r.root.Entries[r.everywhere:]) }},
	{name: "mounts", in: hasNamespaces, by: tree, known: withMounts, needs: []string{"system"},
		write: (*resolver).addMounts},
	{name: "pivot", in: leavesLate, by: tree, needs: []string{"system"}, write: (*resolver).pivot},
	{name: "names", in: hasNamespaces, by: tree, needs: []string{"identity"}, write: (*resolver).names},
	{name: "sockets", in: hasNamespaces, by: netMaker, needs: []string{"lo"}, write: (*resolver).openSockets},
	{name: "seal", in: hasNamespaces, by: tree, needs: []string{"mounts", "early pivot", "pivot"},
		write: (*resolver).seal},
	{name: "hide init", by: tree, in: hasInit, needs: []string{"seal"}, write: (*resolver).hideInit},
	// by the process that makes the tree, so that the filter is loaded meanwhile
	{name: "ruleset", by: tree, known: withMounts, needs: []string{"seal"}, write: (*resolver).ruleset},
	{name: "enter netns", by: tree, in: makesNet, needs: []string{"netns", "seal"}, write: (*resolver).enterNet},
	{name: "own root", by: tree, in: sideBySide, needs: []string{"seal", "enter netns"}, write: (*resolver).unshareRoot},
	{name: "capabilities", in: hasNamespaces, by: each, needs: []string{"group", "late group", "bounding set", "lo",
		"names", "sockets", "detach", "seal", "hide init", "ruleset", "own root"}, write: (*resolver).dropCapabilities},
	{name: "init is done", by: other, in: sideBySide, needs: []string{"capabilities"}, write: func(*resolver) {}},
	{name: "children", in: isProcess, write: (*resolver).adopt},
	{name: "init's domain", in: isProcess, needs: []string{"privileges"}, write: (*resolver).confineInit},
	{name: "fork", in: hasInit, needs: []string{"session", "capabilities", "children", "init's domain"},
		write: (*resolver).fork},
	{name: "payload session", by: payload, in: hasInit, needs: []string{"fork"}, write: (*resolver).beginPayload},
	// before the filter, which may forbid the calls, and with the jail's /proc
	{name: "label", by: payload, in: isLabelled, needs: []string{"payload session", "seal", "own root", "init is done"},
		write: (*resolver).writeLabels},
	{name: "streams", by: payload, known: withRun, needs: []string{"payload session"}, write: (*resolver).streams},
	{name: "limits", by: payload, known: withRun, needs: []string{"group", "late group"}, write: (*resolver).rlimits},
	{name: "workdir", by: payload, known: withRun, needs: []string{"init is done"}, write: (*resolver).workdir},
	{name: "descriptors", by: payload, known: withRun, needs: []string{"streams"}, write: (*resolver).closeOnExec},
	{name: "processes", by: payload, known: withRun, needs: []string{"limits"}, write: (*resolver).limitProcesses},
	{name: "landlock", by: payload, known: withRun, needs: []string{"streams", "workdir"},
		write: (*resolver).enterDomain},
	{name: "filter", by: payload, known: withFilter, needs: []string{"capabilities", "payload session", "label"},
		write: (*resolver).filter},
	{name: "command", by: payload, known: withRun, needs: []string{"filter", "processes", "descriptors", "workdir",
		"landlock", "init is done"}, write: (*resolver).execve},
}

// shape contains the properties on which the order depends.
type shape struct {
	prepared    bool // a launcher in a prepared root performs a prefix before the run is known
	ahead       bool // the launcher was forked early
	side        bool // init and the payload's process make the jail in parallel
	makesNet    bool // init makes the network namespace in parallel
	noInit      bool
	image       bool
	mountsLater bool // the caller's mounts are in the suffix
	filterFirst bool // the filter permits all calls after the prefix

	noNamespaces bool // spec.TierProcess
	labelled     bool // the payload gets a label of AppArmor or SELinux
	leaves       bool // what follows "root" needs nothing of the host's tree
}

func hasInit(s *shape) bool         { return !s.noInit }
func hasNamespaces(s *shape) bool   { return !s.noNamespaces }
func isProcess(s *shape) bool       { return s.noNamespaces }
func leavesEarly(s *shape) bool     { return s.leaves }
func leavesLate(s *shape) bool      { return hasNamespaces(s) && !s.leaves }
func isLabelled(s *shape) bool      { return s.labelled }
func sideBySide(s *shape) bool      { return s.side }
func makesNet(s *shape) bool        { return s.makesNet }
func inPreparedImage(s *shape) bool { return s.prepared && s.image }
func madeAhead(s *shape) bool       { return s.ahead && !s.image } // an image's program begins differently
func notAhead(s *shape) bool        { return !madeAhead(s) }

// performs reports whether a process performs a phase.
func (s *shape) performs(p process, ph *phase) bool {
	if ph.in != nil && !ph.in(s) {
		return false
	}
	child := ph.by == payload && !s.noInit
	switch {
	case !s.side || child:
		return p == payloadProcess && child || p == firstProcess && !child
	case ph.by == each:
		return p != firstProcess
	case ph.by == first:
		return p == firstProcess
	case ph.by == tree && s.makesNet:
		return p == payloadProcess
	}
	return p == initProcess
}

// step is a phase that a particular process performs.
type step struct {
	*phase
	by   process
	post bool // the payload's process waits for the end of this step of init: program.Post
	join int  // the number of posts for which the payload's process waits before this step: program.Join
}

// sequence is the order of steps in a program: a prefix, which is known before the run, and a suffix. Each part lists
// the steps of the first process, then those of init, then those of the payload's process.
type sequence struct{ prefix, suffix []step }

// derive returns the order of the steps for a shape.
func derive(s *shape) (o sequence) {
	late := s.late()
	o.prefix, o.suffix = make([]step, 0, len(phases)), make([]step, 0, len(phases))
	for _, p := range []process{firstProcess, initProcess, payloadProcess} {
		for i := range phases {
			switch ph := &phases[i]; {
			case !s.performs(p, ph):
			case late&(1<<i) != 0:
				o.suffix = append(o.suffix, step{phase: ph, by: p})
			default:
				o.prefix = append(o.prefix, step{phase: ph, by: p})
			}
		}
	}
	o.wait()
	return o
}

// late returns the phases of the suffix as a set of bits: those known only with the run, and all that need one of them.
func (s *shape) late() (set uint64) {
	for i := range phases {
		ph := &phases[i]
		late := ph.known == withRun || ph.known == withMounts && s.mountsLater || ph.known == withFilter && !s.filterFirst
		for k := range phases[:i] {
			late = late || set&(1<<k) != 0 && slices.Contains(ph.needs, phases[k].name)
		}
		if late {
			set |= 1 << i
		}
	}
	return set
}

// wait makes the payload's process wait for the steps of init that it needs. The last step of init needs no post,
// because the end of init's part acts as one.
func (o *sequence) wait() {
	posts := 0
	for i := range o.prefix {
		done := &o.prefix[i]
		if done.by != initProcess || done.phase.by == each {
			continue
		}
		for _, user := range []*step{o.user(o.prefix, done), o.user(o.suffix, done)} {
			if user == nil {
				continue
			}
			posts++
			user.join, done.post = posts, done.phase.by != other
			break
		}
	}
}

// user returns the first step of the payload's process that needs the given step of init, or nil. A phase that both
// processes perform does not wait for the other process.
func (o *sequence) user(steps []step, done *step) *step {
	at := slices.IndexFunc(steps, func(st step) bool {
		return st.by == payloadProcess && st.phase.by != each && slices.Contains(st.needs, done.name)
	})
	if at < 0 {
		return nil
	}
	return &steps[at]
}

// write appends the operations of one part, up to an error.
func (r *resolver) write(steps []step) {
	fork, own, release := -1, 0, func() {}
	for i := range steps {
		st := &steps[i]
		if r.err != nil {
			return
		}
		if st.by == payloadProcess && i > 0 && steps[i-1].by == initProcess { // the two processes must use different slots
			own, release = len(r.Jail.Ops)-fork-1, r.Jail.Hold()
		}
		if st.join > 0 {
			r.Jail.Add("init", program.Join, program.Int(st.join))
		}
		st.write(r)
		if st.name == "fork" {
			fork = len(r.Jail.Ops) - 1
		}
		if st.post {
			r.Jail.Add("init", program.Post)
		}
	}
	if fork >= 0 {
		r.Jail.Ops[fork].Args = r.forkArgs(own)
	}
	release()
}
