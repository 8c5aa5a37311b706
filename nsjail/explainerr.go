package nsjail

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"brig/internal/program"
	"brig/nsjail/internal/launcher"

	"golang.org/x/sys/unix"
)

// setupError names the operation that failed in the jail, and the remedy.
func (c *Cmd) setupError(rep launcher.Report) error {
	op, of := c.plan.op(rep.A)
	if op == nil {
		return &Error{Fault: FaultBrig, Op: "program", Detail: "ended without execve(2)"}
	}
	e := &Error{Fault: FaultHost, Step: rep.A + 1, Of: of, Op: op.Label, Detail: op.Call(), Errno: syscall.Errno(rep.B)}
	if op.Label == opExec {
		return c.execError(e)
	}
	e.Fault, e.Remedy = remedy(op.Label, e.Detail, e.Errno)
	if c.Spec.Rootfs.Path != "" && slices.Contains([]string{"dev", "proc", "scratch"}, op.Label) &&
		slices.Contains([]syscall.Errno{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EROFS}, e.Errno) {
		e.Fault, e.Remedy = FaultCaller, "the tree of --rootfs has no such directory, or a link there that leads nowhere in it; mend the tree"
		return e
	}
	return blame(e)
}

// failure is a row of the failures that a machine or a Spec can cause. An empty field matches everything.
type failure struct {
	label  string // of the step; a * at the end stands for any rest
	call   string // what its call begins with
	errnos []syscall.Errno
	fault  Fault
	remedy string
}

// failures are searched in their order; the last row matches every failure.
func failures() []failure {
	type errnos = []syscall.Errno
	files := fmt.Sprintf("the hard limit on open files is too low: a jail needs %d; raise it with ulimit -Hn", neededFiles)
	return []failure{
		{"user", "", errnos{unix.EPERM, unix.EACCES}, FaultHost,
			"an outer sandbox or an LSM forbids user namespaces; `brig doctor` tells which"},
		{"user", "", errnos{unix.EROFS}, FaultHost, "/proc is mounted read-only here; run mount -o remount,rw,bind /proc, " +
			"or give the outer container a writable /proc (docker run --security-opt systempaths=unconfined)"},
		{"net", "recvfrom", errnos{unix.EAGAIN}, FaultHost, "the kernel has refused a route or a rule of the jail's own " +
			"network namespace; a policy for every port needs nf_tables with NAT (modprobe nft_redir), and one that " +
			"names its ports does not"},
		{"net", "dup3", errnos{unix.EBADF}, FaultHost, "the hard limit on open files is too low for the sockets of this " +
			"policy: raise it to 512 with ulimit -Hn, or name fewer ports"},
		{"", "", errnos{unix.EMFILE}, FaultHost, files},
		{"", "dup3", errnos{unix.EBADF}, FaultHost, files},
		{"pivot", "", errnos{unix.EINVAL}, FaultHost, "the root is the kernel's initramfs, which pivot_root(2) cannot " +
			"replace; enter a tmpfs with switch_root(8) first"},
		{"mounts[*", "", errnos{unix.EEXIST}, FaultCaller, "the target exists already; choose another"},
		{"mounts[*", "", errnos{unix.EROFS}, FaultCaller, noMountPoint},
		{"rootfs", "", errnos{unix.EROFS}, FaultCaller, noMountPoint},
		{"mounts[*", "", errnos{unix.ENOTDIR, unix.ELOOP, unix.ENOENT}, FaultCaller,
			"a part of the target's path is no directory, or a symbolic link that leads nowhere in the jail or that the " +
				"payload could replace, since it lies in a writable mount; name the path that it leads to"},
		{"", "", errnos{unix.ESTALE}, FaultCaller, "the source was replaced while the jail was being made; share a path " +
			"that nobody else can change"},
		{"proc*", "", errnos{unix.EPERM}, FaultHost, "this container's /proc is masked, and the kernel then refuses a new " +
			"one (mount_namespaces(7)); run the outer container with an unmasked /proc, or accept an empty one: " +
			"--optional proc"},
		{"workdir", "", nil, FaultCaller, "--workdir must be a directory of the jail that the payload may enter"},
		{"session", "keyctl", nil, FaultHost, "an outer filter forbids keyctl(2); accept that: --optional keyring"},
		{"tty", "", errnos{unix.ENOSPC}, FaultHost, "all pseudo-terminals of this machine are in use (kernel.pty.nr): " +
			"raise kernel.pty.max with sysctl, or end what holds them"},
		{"inotify", "", nil, FaultHost, "a limit on inotify(7) cannot be set in the jail's own user namespace; an outer " +
			"sandbox forbids it, or the kernel lacks CONFIG_INOTIFY_USER"},
		{"", "", errnos{unix.ENOSPC}, FaultHost, "raise user.max_mnt_namespaces and its neighbours " +
			"(namespaces(7)), or fs.mount-max"},
		{"", "", errnos{unix.ENOMEM}, FaultHost, "free memory"},
		{"", "openat", errnos{unix.EACCES}, FaultCaller, "the jail's user may not reach that path; see namei -l"},
		{"", "", nil, FaultHost, "`brig doctor` checks this machine"},
	}
}

const noMountPoint = "the mount point does not exist in a read-only tree; make it there, or use --rootfs-writable"

// remedy finds the first row that fits.
func remedy(label, call string, errno syscall.Errno) (Fault, string) {
	all := failures()
	i := slices.IndexFunc(all, func(c failure) bool {
		start, open := strings.CutSuffix(c.label, "*")
		return (c.label == "" || c.label == label || open && strings.HasPrefix(label, start)) &&
			strings.HasPrefix(call, c.call) && (c.errnos == nil || slices.Contains(c.errnos, errno))
	})
	return all[i].fault, all[i].remedy
}

// cloneError explains why the launcher could not make the namespaces.
func (p *Plan) cloneError(err error) error {
	var oe *launcher.OpError
	if errors.Is(err, unix.EFBIG) {
		return &Error{Fault: FaultHost, Op: "launcher", Detail: err.Error(), Remedy: "the limit on file sizes is too low for brig itself; raise it with ulimit -f, and bound the payload by --ulimit fsize"}
	}
	var size program.SizeError
	if errors.As(err, &size) {
		return &Error{Fault: FaultCaller, Op: "plan", Detail: err.Error(), Remedy: "make the arguments or files smaller"}
	}
	if !errors.As(err, &oe) {
		return &Error{Fault: FaultBrig, Op: "launcher", Detail: err.Error()}
	}
	e := &Error{Fault: FaultHost, Op: "clone3", Detail: strings.Join(flagNames(p.Flags), "|"), Errno: oe.Errno}
	switch oe.Errno {
	case unix.EPERM:
		e.Remedy = "user namespaces are forbidden here; `brig doctor` tells by what"
	case unix.ENOSPC:
		e.Remedy = "a limit of user.max_*_namespaces is reached (namespaces(7)); raise it with sysctl"
	case unix.EAGAIN:
		e.Remedy = "the limit on processes is reached (ulimit -u)"
	case unix.EUSERS:
		e.Remedy = "user namespaces are nested 32 deep already"
	case unix.ENOSYS:
		e.Remedy = "an outer filter hides clone3(2); give the outer container a newer seccomp profile"
	case unix.EACCES, unix.EBUSY, unix.ENODEV:
		return cloneIntoError(e)
	default:
		e.Remedy = "`brig doctor` checks this machine"
	}
	return blame(e)
}
