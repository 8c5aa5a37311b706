package nsjail

import (
	"runtime"

	"brig/internal/program"
	"brig/netns"
	"brig/nsjail/internal/launcher"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

// canAtOnce says that two processes of the launcher in one memory can make system calls at the same time (launcher.h).
const canAtOnce = runtime.GOARCH == "amd64"

// atOnce writes a head that init and the payload's process perform at the same time, since a machine has more than one
// processor. Until the tree stands both have the one root; each gives up its capabilities itself, and the payload's does
// not come to execve(2) before init has.
func (r *resolver) atOnce() error {
	r.born()
	r.outlived(r.selfDir()) // later, with memory that is shared, the kernel would look at every process of the machine
	r.bound()
	r.listen()
	rootfs.Widen(r.Jail, launcher.SlotReport)
	part := r.netBeside
	if r.pooled() {
		part = r.treeBeside
	}
	return r.fork(part)
}

// fork makes of the list's process two: init, which performs what own writes, and the payload's, which performs what own
// gives and goes on.
func (r *resolver) fork(own func() (rest func())) error {
	fork := len(r.Jail.Ops)
	r.Jail.Add("init", program.Fork)
	rest := own()
	n := len(r.Jail.Ops) - fork - 1
	release := r.Jail.Hold()
	r.Jail.Add("session", unix.SYS_SETSID)
	rest()
	r.surrender()
	r.Jail.Ops[fork].Args = r.forkArgs(n)
	r.Enforced["init"] = "brig's init is pid 1"
	err := r.filter()
	release()
	return err
}

// earlyAtOnce writes the list of a jail that a launcher forked early has begun: the two processes part where that beginning ends.
func (r *resolver) earlyAtOnce() error {
	r.root.First = r.everywhere
	r.begin()
	r.outlived(program.CWD(), "proc/self/oom_score_adj") // of the new root, which is not the root yet
	r.listen()
	return r.fork(func() (rest func()) {
		r.tree.Rest()
		return r.ownTree()
	})
}

// canPart says whether init and the payload's process can make a jail together, where the filter lets the second go on.
func (r *resolver) canPart() bool {
	return canAtOnce && !r.spec.NoInit && r.spec.Rootfs.Path == "" && r.sockets == nil
}

// treeBeside has init make the tree, while the payload's process loads the filter. It gives what else that performs.
func (r *resolver) treeBeside() (rest func()) {
	r.plant()
	return r.ownTree()
}

// ownTree has init end with the tree and leave the shared root; the payload's process waits for that before its working
// directory.
func (r *resolver) ownTree() (rest func()) {
	r.wholeTree()
	r.Jail.Add("init", unix.SYS_UNSHARE, program.Named(unix.CLONE_FS, "CLONE_FS"))
	r.surrender()
	r.posts = 1
	return func() {}
}

// netBeside has init make the network namespace, while the payload's process makes the tree, and then enters it.
func (r *resolver) netBeside() (rest func()) {
	p := r.Jail
	r.Flags &^= unix.CLONE_NEWNET
	p.Add("net", unix.SYS_UNSHARE, program.Named(unix.CLONE_NEWNET, "CLONE_NEWNET"))
	ns := netns.Descriptor(p)
	p.Add("net", program.Post)
	r.loopback()
	r.surrender()
	r.posts = 2
	return func() {
		r.plant()
		r.wholeTree()
		p.Add("net", program.Join, program.Int(1))
		p.Add("net", unix.SYS_SETNS, ns.Arg(), program.Named(unix.CLONE_NEWNET, "CLONE_NEWNET"))
		p.Close("net", ns)
		p.Add("init", unix.SYS_UNSHARE, program.Named(unix.CLONE_FS, "CLONE_FS"))
	}
}

// wholeTree ends with the tree and makes it the root.
func (r *resolver) wholeTree() {
	r.tree.Add(r.own)
	r.tree.Enter()
	r.names()
	r.leaveBehind()
	r.seal()
	r.hideMemory()
}

// inTurn writes a head that one process performs, or init and then its child.
func (r *resolver) inTurn() error {
	r.begin()
	if !early(r.spec) {
		r.tree.Add(r.own)
	}
	r.tree.Enter()
	r.settle()
	if early(r.spec) {
		return nil
	}
	r.close()
	if !r.filtered {
		return nil
	}
	return r.filter()
}
