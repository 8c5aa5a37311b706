package plan

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"brig/internal/program"
	"brig/netns"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

// decide resolves everything except the caller's mounts.
func (r *resolver) decide() {
	r.in = launcher.SlotUser
	r.namespaces()
	r.group()
	r.keepLimits()
	r.static()
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
	r.Jail.Add("init", program.Fork)
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

func (r *resolver) streams() {
	if r.Spec.TTY {
		r.terminal()
		return
	}
	for i := range 3 {
		r.Jail.Add("stdio", unix.SYS_DUP3, (r.Stdio + program.Slot(i)).Arg(), program.Int(i), program.Int(0))
	}
}

func (r *resolver) workdir() {
	r.Jail.Add("workdir", unix.SYS_CHDIR, program.Str(cmp.Or(r.Spec.Workdir, spec.DefaultWorkdir)))
}

// closeOnExec leaves only the standard streams to the payload: close_range(2) CLOSE_RANGE_CLOEXEC, Linux 5.11.
func (r *resolver) closeOnExec() {
	r.Jail.Add("fds", unix.SYS_CLOSE_RANGE, program.Int(3), program.Named(^uint32(0), "~0U"),
		program.Named(unix.CLOSE_RANGE_CLOEXEC, "CLOSE_RANGE_CLOEXEC"))
}

// limitProcesses sets RLIMIT_NPROC, which counts per user namespace. If pids.max of a control group also applies,
// RLIMIT_NPROC is twice as high, so that processes reach pids.max first, which counts how often it was hit.
func (r *resolver) limitProcesses() {
	n := r.processes()
	if n < 0 && slices.Contains(r.Spec.Require, "processes") {
		r.fail(spec.CallerError("limits.processes", "a limit is required, and none is asked for", "drop one of the two"))
		return
	}
	if _, own := r.Spec.Limits.Rlimits["nproc"]; own || n < 0 {
		r.Enforced["processes"] = "not enforced: no limit was asked for"
		if own {
			r.Enforced["processes"] = "RLIMIT_NPROC as given"
		}
		return
	}
	missing := ""
	if !r.Host.Kernel.AtLeast(5, 14) {
		missing = "RLIMIT_NPROC counts per user namespace only since Linux 5.14"
	}
	counted := r.Enforced["processes"] != ""
	if counted {
		n *= 2 // each process may be in a fork(2) that RLIMIT_NPROC counts before the group refuses it
	}
	if hard := r.Host.HardLimits["nproc"]; hard >= 0 {
		n = min(n, hard)
	}
	payloads := n
	if !r.Spec.NoInit {
		payloads--
	}
	if counted && missing == "" || !counted && r.require("processes",
		fmt.Sprintf("RLIMIT_NPROC %d in the user namespace", payloads), missing, "") {
		r.setRlimit(unix.RLIMIT_NPROC, "nproc", spec.Rlimit{Soft: n, Hard: n})
	}
}

// filter loads the seccomp filters: seccomp(2), Linux 3.17. It sets RLIMIT_CORE before, since they forbid that.
func (r *resolver) filter() {
	r.rlimit("core")
	if r.Host.Guard != nil {
		r.loadFilter(r.Host.Guard, 0)
		r.Notes = append(r.Notes, r.guardNote())
	}
	if r.Spec.Seccomp == "unconfined" {
		if slices.Contains(r.Spec.Require, "seccomp") {
			r.fail(spec.CallerError("seccomp", "it is required and unconfined", "drop one of the two"))
		}
		r.Enforced["seccomp"] = "not enforced: unconfined was asked for"
		r.Enforced["sockets"] = "not enforced: no filter"
		return
	}
	name := cmp.Or(r.Spec.Seccomp, "default")
	by := fmt.Sprintf("%s, %d instructions", name, len(r.Host.Filter)/8)
	if !r.require("seccomp", by, r.Host.Missing["seccomp"], "") {
		return
	}
	if name == "default" {
		r.Enforced["sockets"] = "seccomp: AF_UNIX, AF_INET, AF_INET6, NETLINK_ROUTE; no host socket below a bind"
	}
	if r.Heard == nil {
		r.loadFilter(r.Host.Filter, r.Host.FilterFlags)
		return
	}
	// init is the listener (seccomp_unotify(2), Linux 5.0). Its descriptor gets the lowest free number, which must be
	// below the payload's own limit if that is already set. The descriptor that has this number is no longer needed.
	if !r.shape.filterFirst {
		r.Jail.Add("fds", unix.SYS_CLOSE, program.Int(MinFiles-1)).May(unix.EBADF)
	}
	r.loadFilter(r.Heard, r.Host.FilterFlags|unix.SECCOMP_FILTER_FLAG_NEW_LISTENER).Save = r.listener
}

// guardNote describes what the guard refuses: seccomp.GuardTable.
func (r *resolver) guardNote() string {
	note := "a filter of brig's own refuses what the default filter refuses for its arguments"
	if host.Shares(r.Spec) {
		note += ", and what makes or could make files with S_ISUID or S_ISGID (openat2(2) and io_uring too), since the " +
			"payload may write to the host's files"
	}
	return note
}

func (r *resolver) loadFilter(filter []byte, flags uint) *program.Op {
	prog := make([]byte, 16) // struct sock_fprog
	binary.NativeEndian.PutUint16(prog, uint16(len(filter)/8))
	return r.Jail.Add("seccomp", unix.SYS_SECCOMP,
		program.Named(unix.SECCOMP_SET_MODE_FILTER, "SECCOMP_SET_MODE_FILTER"), filterFlags(flags),
		program.Struct(prog, showFilter).WithPointer(8, filter))
}

func filterFlags(flags uint) program.Arg {
	if flags == unix.SECCOMP_FILTER_FLAG_NEW_LISTENER {
		return program.Named(int(flags), "SECCOMP_FILTER_FLAG_NEW_LISTENER")
	}
	return program.Int(int(flags))
}

func showFilter(b []byte) string {
	return fmt.Sprintf("{%d instructions}", binary.NativeEndian.Uint16(b))
}
