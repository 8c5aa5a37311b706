package plan

import (
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
func (r *resolver) decide() error {
	r.in = launcher.SlotUser
	for _, step := range []func() error{r.namespaces, r.group, r.keepLimits, r.static} {
		if err := step(); err != nil {
			return err
		}
	}
	r.Enforced["init"] = "brig's init is pid 1"
	if r.spec.NoInit {
		r.Enforced["init"] = "not enforced: the payload is pid 1 (--no-init)"
	}
	return nil
}

// firstSlot is the first slot for results. It is fixed, since a launcher may perform the beginning of a program before
// it knows how many descriptors come with the program (launcher.Ahead).
const firstSlot = program.Slot(64)

// beginTree begins the root with the entries that are the same on every machine.
func (r *resolver) beginTree() error {
	files := r.host.HardLimits["nofile"]
	r.root.Watched = !r.spec.NoInit && (files < 0 || files >= rootfs.FirstDisk+rootfs.MaxDisks)
	r.root.Over = r.mode.Root != nil
	r.root.Own = r.own
	r.root.Later = r.mode.Root != nil && len(r.spec.Mounts) > 0
	r.tree = rootfs.Begin(r.Jail, &r.root)
	r.tree.Add(r.root.Entries[:r.everywhere])
	return nil
}

// systemTree adds the entries that depend on this machine.
func (r *resolver) systemTree() error {
	r.tree.Add(r.root.Entries[r.everywhere:])
	return nil
}

func (r *resolver) callerMounts() error {
	r.tree.Add(r.own)
	return nil
}

func (r *resolver) pivot() error {
	r.tree.Enter()
	return nil
}

// seal completes the root and makes it read-only.
func (r *resolver) seal() error {
	r.tree.Seal()
	r.Disks = r.tree.Disks()
	r.Jail.Add("process", unix.SYS_UMASK, program.Named(0o22, "022"))
	return nil
}

// hideInit prevents the jail from reading init's memory, which is the launcher's: ptrace(2) PTRACE_MODE_READ.
func (r *resolver) hideInit() error {
	r.Jail.Add("init", unix.SYS_PRCTL, program.Named(unix.PR_SET_DUMPABLE, "PR_SET_DUMPABLE"), program.Int(0))
	return nil
}

// fork creates the payload's process. write completes the arguments, which depend on the operations that follow.
func (r *resolver) fork() error {
	r.listen()
	r.Jail.Add("init", program.Fork)
	return nil
}

// makeNet makes the network namespace while another process makes the root.
func (r *resolver) makeNet() error {
	r.Jail.Add("net", unix.SYS_UNSHARE, program.Named(unix.CLONE_NEWNET, "CLONE_NEWNET"))
	r.newNet = netns.Descriptor(r.Jail)
	r.Flags &^= unix.CLONE_NEWNET
	return nil
}

// enterNet enters the network namespace of makeNet.
func (r *resolver) enterNet() error {
	r.Jail.Add("net", unix.SYS_SETNS, r.newNet.Arg(), program.Named(unix.CLONE_NEWNET, "CLONE_NEWNET"))
	r.Jail.Close("net", r.newNet)
	return nil
}

// unshareRoot unshares the process's root and working directory. Init and the payload's process share them until the
// root is complete: clone(2) CLONE_FS.
func (r *resolver) unshareRoot() error {
	r.Jail.Add("init", unix.SYS_UNSHARE, program.Named(unix.CLONE_FS, "CLONE_FS"))
	return nil
}

// growTable grows the descriptor table for the fixed descriptor numbers while a single process uses it.
func (r *resolver) growTable() error {
	rootfs.Widen(r.Jail, launcher.SlotReport)
	return nil
}

func (r *resolver) payloadSession() error {
	r.Jail.Add("session", unix.SYS_SETSID)
	return nil
}

func (r *resolver) streams() error {
	if r.spec.TTY {
		r.terminal()
		return nil
	}
	for i := range 3 {
		r.Jail.Add("stdio", unix.SYS_DUP3, (r.Stdio + program.Slot(i)).Arg(), program.Int(i), program.Int(0))
	}
	return nil
}

func (r *resolver) workdir() error {
	dir := r.spec.Workdir
	if dir == "" {
		dir = spec.DefaultWorkdir
	}
	r.Jail.Add("workdir", unix.SYS_CHDIR, program.Str(dir))
	return nil
}

// closeOnExec leaves only the standard streams to the payload: close_range(2) CLOSE_RANGE_CLOEXEC, Linux 5.11.
func (r *resolver) closeOnExec() error {
	r.Jail.Add("fds", unix.SYS_CLOSE_RANGE, program.Int(3), program.Named(^uint32(0), "~0U"),
		program.Named(unix.CLOSE_RANGE_CLOEXEC, "CLOSE_RANGE_CLOEXEC"))
	return nil
}

// limitProcesses sets RLIMIT_NPROC, which counts per user namespace. If pids.max of a control group also applies,
// RLIMIT_NPROC is twice as high, so that processes reach pids.max first, which counts how often it was hit.
func (r *resolver) limitProcesses() error {
	n := r.processes()
	if n < 0 && slices.Contains(r.spec.Require, "processes") {
		return &spec.Error{Fault: spec.FaultCaller, Op: "limits.processes",
			Detail: "a limit is required, and none is asked for", Remedy: "drop one of the two"}
	}
	if _, own := r.spec.Limits.Rlimits["nproc"]; own || n < 0 {
		r.Enforced["processes"] = "not enforced: no limit was asked for"
		if own {
			r.Enforced["processes"] = "RLIMIT_NPROC as given"
		}
		return nil
	}
	missing := ""
	if !r.host.Kernel.AtLeast(5, 14) {
		missing = "RLIMIT_NPROC counts per user namespace only since Linux 5.14"
	}
	if by := r.Enforced["processes"]; by != "" {
		if missing == "" {
			spare := 2 * n // each process may be in a fork(2) that RLIMIT_NPROC counts before the group refuses it
			if hard := r.host.HardLimits["nproc"]; hard >= 0 {
				spare = min(spare, hard)
			}
			r.setRlimit(unix.RLIMIT_NPROC, "nproc", spec.Rlimit{Soft: spare, Hard: spare})
		}
		return nil
	}
	if hard := r.host.HardLimits["nproc"]; hard >= 0 && n > hard {
		n = hard
	}
	ok, err := r.require("processes", fmt.Sprintf("RLIMIT_NPROC %d in the user namespace", r.withoutInit(n)), missing, "")
	if !ok {
		return err
	}
	r.setRlimit(unix.RLIMIT_NPROC, "nproc", spec.Rlimit{Soft: n, Hard: n})
	return nil
}

// withoutInit returns how many processes the payload may have if n includes init.
func (r *resolver) withoutInit(n int64) int64 {
	if r.spec.NoInit {
		return n
	}
	return n - 1
}

// filter loads the seccomp filters: seccomp(2), Linux 3.17. It sets RLIMIT_CORE before, since they forbid that.
func (r *resolver) filter() error {
	if err := r.rlimit("core"); err != nil {
		return err
	}
	if r.host.Guard != nil {
		r.loadFilter(r.host.Guard, 0)
		r.Notes = append(r.Notes, r.guardNote())
	}
	if r.spec.Seccomp == "unconfined" {
		if slices.Contains(r.spec.Require, "seccomp") {
			return &spec.Error{Fault: spec.FaultCaller, Op: "seccomp", Detail: "it is required and unconfined",
				Remedy: "drop one of the two"}
		}
		r.Enforced["seccomp"] = "not enforced: unconfined was asked for"
		r.Enforced["sockets"] = "not enforced: no filter"
		return nil
	}
	name := r.spec.Seccomp
	if name == "" {
		name = "default"
	}
	ok, err := r.require("seccomp", fmt.Sprintf("%s, %d instructions", name, len(r.host.Filter)/8),
		r.host.Missing["seccomp"], "")
	if !ok {
		return err
	}
	if name == "default" {
		r.Enforced["sockets"] = "seccomp: AF_UNIX, AF_INET, AF_INET6, NETLINK_ROUTE; no host socket below a bind"
	}
	if r.Heard == nil {
		r.loadFilter(r.host.Filter, r.host.FilterFlags)
		return nil
	}
	// init is the listener (seccomp_unotify(2), Linux 5.0). Its descriptor gets the lowest free number, which must be
	// below the payload's own limit if that is already set. The descriptor that has this number is no longer needed.
	if !r.shape.filterFirst {
		r.Jail.Add("fds", unix.SYS_CLOSE, program.Int(MinFiles-1)).May(unix.EBADF)
	}
	r.loadFilter(r.Heard, r.host.FilterFlags|unix.SECCOMP_FILTER_FLAG_NEW_LISTENER).Save = r.listener
	return nil
}

// guardNote describes what the guard refuses: seccomp.GuardTable.
func (r *resolver) guardNote() string {
	note := "a filter of brig's own refuses what the default filter refuses for its arguments"
	if host.Shares(r.spec) {
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
