package plan

import (
	"slices"

	"brig/internal/program"
	"brig/netns"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

// decide resolves everything except the caller's mounts.
func (r *resolver) decide() {
	r.in = launcher.SlotUser
	if r.Spec.Tier == spec.TierProcess {
		r.tierProcess()
		return
	}
	r.namespaces()
	r.group()
	r.keepLimits()
	r.static()
	r.decideLandlock()
	r.decideLabels()
	r.Enforced["init"] = "brig's init is pid 1"
	if r.Spec.NoInit {
		r.Enforced["init"] = "not enforced: the payload is pid 1 (--no-init)"
	}
}

// firstSlot is the first slot for results. It is fixed, since a launcher may perform the beginning of a program before
// it knows how many descriptors come with the program (launcher.Ahead).
const firstSlot = program.Slot(64)

// beginTree begins the root with the entries that are the same on every machine.
func (r *resolver) beginTree() {
	files := r.Host.HardLimits["nofile"]
	r.root.Watched = !r.Spec.NoInit && (files < 0 || files >= rootfs.FirstDisk+rootfs.MaxDisks)
	r.root.Over = r.Mode.Root != nil
	r.root.Own = r.own
	r.root.Later = r.Mode.Root != nil && len(r.Spec.Mounts) > 0
	r.tree = rootfs.Begin(r.Jail, &r.root)
	r.tree.Add(r.root.Entries[:r.everywhere])
}

// leavesEarly reports whether all entries that are not the same on every machine need nothing of the host's tree: the
// keeper passes their mounts, as root's does.
func (r *resolver) leavesEarly() bool {
	hosts := func(e rootfs.Entry) bool { return e.Upper != nil || e.Source.Path != "" && !e.Source.Passed }
	return r.Mode.Forked && r.Spec.Tier == "" && r.Spec.Rootfs.Path == "" &&
		!slices.ContainsFunc(r.root.Entries[r.everywhere:], hosts) && !slices.ContainsFunc(r.own, hosts)
}

func (r *resolver) pivot() { r.tree.Enter() }

// addMounts adds the caller's mounts.
func (r *resolver) addMounts() {
	r.tree.Add(r.own)
	r.passUppers()
}

// imageProcfs mounts a procfs where the overlays of the caller's mounts look for descriptors.
func (r *resolver) imageProcfs() {
	if len(r.own) > 0 {
		rootfs.ProcOver(r.Jail)
	}
}

// seal completes the root and makes it read-only.
func (r *resolver) seal() {
	r.tree.Seal()
	r.Disks = r.tree.Disks()
	r.Jail.Add("process", unix.SYS_UMASK, program.Named(0o22, "022"))
}

// hideInit prevents the jail from reading init's memory, which is the launcher's: ptrace(2) PTRACE_MODE_READ.
func (r *resolver) hideInit() {
	r.Jail.Add("init", unix.SYS_PRCTL, program.Named(unix.PR_SET_DUMPABLE, "PR_SET_DUMPABLE"), program.Int(0))
}

// fork creates the payload's process. write completes the arguments, which depend on the operations that follow.
func (r *resolver) fork() {
	r.listen()
	if n := r.Mode.Terminal; n > 0 { // of init's session: ENOTTY where no terminal could be opened
		r.Jail.Add("tty", unix.SYS_IOCTL, (r.Stdio + program.Slot(n-1)).Arg(), program.Named(unix.TIOCSCTTY, "TIOCSCTTY"),
			program.Int(0)).May(unix.ENOTTY)
	}
	r.Jail.Add("init", program.Fork)
}

// keepSysctl opens /proc/sys for loopback, before the other process covers it.
func (r *resolver) keepSysctl() {
	if r.root.Proc != 0 {
		r.sysctl = r.Jail.Open("net", unix.SYS_OPENAT, r.root.Proc.Arg(), program.Str("sys"),
			program.Named(unix.O_PATH|unix.O_CLOEXEC, "O_PATH|O_CLOEXEC"), program.Int(0))
	}
}

// makeNet makes the network namespace while another process makes the root.
func (r *resolver) makeNet() {
	r.Jail.Add("net", unix.SYS_UNSHARE, program.Named(unix.CLONE_NEWNET, "CLONE_NEWNET"))
	r.newNet = netns.Descriptor(r.Jail)
	r.Flags &^= unix.CLONE_NEWNET
}

// enterNet enters the network namespace of makeNet.
func (r *resolver) enterNet() {
	r.Jail.Add("net", unix.SYS_SETNS, r.newNet.Arg(), program.Named(unix.CLONE_NEWNET, "CLONE_NEWNET"))
	r.Jail.Close("net", r.newNet)
}

// unshareRoot unshares the process's root and working directory. Init and the payload's process share them until the
// root is complete: clone(2) CLONE_FS.
func (r *resolver) unshareRoot() {
	r.Jail.Add("init", unix.SYS_UNSHARE, program.Named(unix.CLONE_FS, "CLONE_FS"))
}
