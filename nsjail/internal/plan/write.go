package plan

import (
	"brig/internal/program"
	"brig/rootfs"
)

// writer appends operations to a program. Its slots hold what one phase makes and a later one uses.
type writer struct {
	*program.Program
	proc     program.Slot // the jail's procfs before the root is complete, or 0
	sysctl   program.Slot // /proc/sys, for the network namespace that init makes, or 0
	net      program.Slot // the network namespace that init makes
	ruleset  program.Slot // the payload's Landlock rules
	listener program.Slot // init's descriptor of the payload's filter
	tree     *rootfs.Tree
}

// on returns the writer of the rest of a program, which begins with the same slots.
func (w *writer) on(p *program.Program) *writer {
	c := *w
	c.Program = p
	if w.tree != nil {
		c.tree = w.tree.On(p)
	}
	return &c
}

// disks returns the targets of each tmpfs that init holds open.
func (w *writer) disks() [][]string {
	if w.tree == nil {
		return nil
	}
	return w.tree.Disks()
}

// write appends the operations of one part.
func (w *writer) write(d *decisions, steps []step) {
	fork, own, release := -1, 0, func() {}
	for i := range steps {
		st := &steps[i]
		if st.by == payloadProcess && i > 0 && steps[i-1].by == initProcess { // the two processes must use different slots
			own, release = len(w.Ops)-fork-1, w.Hold()
		}
		if st.join > 0 {
			w.Add("init", program.Join, program.Int(st.join))
		}
		st.write(w, d)
		if st.name == "fork" {
			fork = len(w.Ops) - 1
		}
		if st.post {
			w.Add("init", program.Post)
		}
	}
	if fork >= 0 {
		w.Ops[fork].Args = d.listening.args(own, len(w.disks()), w.listener, d.streams.first)
	}
	release()
}
