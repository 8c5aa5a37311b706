package nsjail

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"brig/internal/program"
	"brig/nsjail/internal/stage"

	"golang.org/x/sys/unix"
)

// NotFound and NotExecutable say why the command could not be started; errors.Is finds them in Start's error.
var (
	ErrNotFound      = errors.New("command not found in the jail")
	ErrNotExecutable = errors.New("command not executable in the jail")
)

// ExecError is a command that the jail could not start.
type ExecError struct {
	Cause *Error
	Kind  error // ErrNotFound or ErrNotExecutable
}

// Error is Cause's line.
func (e *ExecError) Error() string { return e.Cause.Error() }

// Is matches Kind.
func (e *ExecError) Is(target error) bool { return target == e.Kind }

// Unwrap gives the Error.
func (e *ExecError) Unwrap() error { return e.Cause }

// setupError names the operation that failed in the jail, and the remedy.
func (c *Cmd) setupError(rep stage.Report) error {
	op, of := c.plan.op(rep.A)
	if op == nil {
		return &Error{Fault: FaultBrig, Op: "program", Detail: "ended without execve(2)"}
	}
	e := &Error{Fault: FaultHost, Step: rep.A + 1, Of: of, Op: op.Label, Detail: op.Call(), Errno: syscall.Errno(rep.B)}
	if op.Label == "exec" {
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

// remedy knows the failures that a machine or a Spec can cause.
func remedy(label, call string, errno syscall.Errno) (Fault, string) {
	switch {
	case label == "user" && (errno == unix.EPERM || errno == unix.EACCES):
		return FaultHost, "an outer sandbox or an LSM forbids user namespaces; `brig doctor` tells which"
	case label == "user" && errno == unix.EROFS:
		return FaultHost, "/proc is mounted read-only here; run mount -o remount,rw,bind /proc, or give the outer container a writable /proc (docker run --security-opt systempaths=unconfined)"
	case label == "net" && strings.HasPrefix(call, "recvfrom") && errno == unix.EAGAIN:
		return FaultHost, "the kernel has refused a route or a rule of the jail's own network namespace; a policy for every port needs nf_tables with NAT (modprobe nft_redir), and one that names its ports does not"
	case label == "net" && strings.HasPrefix(call, "dup3") && errno == unix.EBADF:
		return FaultHost, "the hard limit on open files is too low for the sockets of this policy: raise it to 512 with ulimit -Hn, or name fewer ports"
	case errno == unix.EMFILE, errno == unix.EBADF && strings.HasPrefix(call, "dup3"):
		return FaultHost, fmt.Sprintf("the hard limit on open files is too low: a jail needs %d; raise it with ulimit -Hn", neededFiles)
	case label == "pivot" && errno == unix.EINVAL:
		return FaultHost, "the root is the kernel's initramfs, which pivot_root(2) cannot replace; enter a tmpfs with switch_root(8) first"
	case strings.HasPrefix(label, "mounts[") && errno == unix.EEXIST:
		return FaultCaller, "the target exists already; choose another"
	case strings.HasPrefix(label, "mounts[") && errno == unix.EROFS, label == "rootfs" && errno == unix.EROFS:
		return FaultCaller, "the mount point does not exist in a read-only tree; make it there, or use --rootfs-writable"
	case strings.HasPrefix(label, "mounts[") && (errno == unix.ENOTDIR || errno == unix.ELOOP || errno == unix.ENOENT):
		return FaultCaller, "a part of the target's path is no directory, or a symbolic link that leads nowhere in the jail"
	case errno == unix.ESTALE:
		return FaultCaller, "the source was replaced while the jail was being made; share a path that nobody else can change"
	case strings.HasPrefix(label, "proc") && errno == unix.EPERM:
		return FaultHost, "this container's /proc is masked, and the kernel then refuses a new one (mount_namespaces(7)); run the outer container with an unmasked /proc, or accept an empty one: --optional proc"
	case label == "workdir":
		return FaultCaller, "--workdir must be a directory of the jail that the payload may enter"
	case label == "session" && strings.HasPrefix(call, "keyctl"):
		return FaultHost, "an outer filter forbids keyctl(2); accept that: --optional keyring"
	case errno == unix.ENOSPC:
		return FaultHost, "raise user.max_mnt_namespaces and its neighbours (namespaces(7)), or fs.mount-max"
	case errno == unix.ENOMEM:
		return FaultHost, "free memory"
	case errno == unix.EACCES && strings.Contains(call, "openat"):
		return FaultCaller, "the jail's user may not reach that path; see namei -l"
	}
	return FaultHost, "`brig doctor` checks this machine"
}

// cloneError explains why the stage could not make the namespaces.
func (p *Plan) cloneError(err error) error {
	var oe *stage.OpError
	if errors.Is(err, unix.EFBIG) {
		return &Error{Fault: FaultHost, Op: "stage", Detail: err.Error(), Remedy: "the limit on file sizes is too low for brig itself; raise it with ulimit -f, and bound the payload by --ulimit fsize"}
	}
	var size program.SizeError
	if errors.As(err, &size) {
		return &Error{Fault: FaultCaller, Op: "plan", Detail: err.Error(), Remedy: "make the arguments or files smaller"}
	}
	if !errors.As(err, &oe) {
		return &Error{Fault: FaultBrig, Op: "stage", Detail: err.Error()}
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

// execError tells a missing command from one that may not run, and finds the flag that would bring it in.
func (c *Cmd) execError(e *Error) error {
	name := c.Spec.Args[0]
	e.Fault, e.Detail = FaultCaller, quote(name)
	switch e.Errno {
	case unix.ENOENT, unix.ENOTDIR:
		e.Remedy = c.whereIsIt(name)
		return &ExecError{e, ErrNotFound}
	case unix.E2BIG:
		e.Remedy = "arguments and environment are too large for the payload's stack limit (execve(2))"
	case unix.ENOEXEC:
		e.Remedy = "it is no program that this kernel runs; a script needs a first line such as #!/bin/sh"
	case unix.EACCES:
		e.Remedy = "it is a directory, has no x permission, or lies on a noexec mount"
	}
	return &ExecError{e, ErrNotExecutable}
}

func (c *Cmd) whereIsIt(name string) string {
	host, err := exec.LookPath(name)
	if err != nil {
		return "it is not on this machine's PATH either"
	}
	if host, err = filepath.Abs(host); err != nil {
		return err.Error()
	}
	real, err := filepath.EvalSymlinks(host)
	if err != nil {
		real = host
	}
	if strings.HasPrefix(real, "/usr/") && c.Spec.Rootfs.Path == "" {
		if strings.Contains(name, "/") {
			return "a file that it needs (an interpreter, a loader) is not in the jail, or the path is not; the host has it as " + real
		}
		return fmt.Sprintf("the host has it as %s, which is not on the jail's PATH; name it in full", real)
	}
	dir := filepath.Dir(filepath.Dir(real)) // the prefix: a program wants its lib and share too
	if _, err := os.Stat(filepath.Join(dir, "lib")); err != nil || dir == "/" {
		dir = filepath.Dir(real)
	}
	return fmt.Sprintf("the host has it as %s; add --ro-bind %s %s and name it in full", real, dir, dir)
}
