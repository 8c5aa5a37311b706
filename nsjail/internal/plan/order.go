package plan

import (
	"slices"
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
	first     worker = iota // the first process, before it forks
	netMaker                // init
	treeMaker               // init, or the payload's process if init makes the network namespace
	other                   // init
	each                    // both
	payload                 // the payload's process
)

// knowledge is the time at which the operations of a phase are known.
type knowledge uint8

const (
	always     knowledge = iota
	withMounts           // always, or with the run if the mounts come later
	withFilter           // always if the filter permits all later calls, or with the run
	withRun              // only with the run
)

// performs reports whether a process performs a phase.
func (s *shape) performs(p process, ph *phase) bool {
	if ph.in != nil && !ph.in(s) {
		return false
	}
	child := ph.by == payload && !s.noInit
	switch {
	case child && s.box:
		return false
	case !s.side || child:
		return p == payloadProcess && child || p == firstProcess && !child
	case ph.by == each:
		return p != firstProcess
	case ph.by == first:
		return p == firstProcess
	case ph.by == treeMaker && s.makesNet:
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
