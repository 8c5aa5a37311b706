package ops

import (
	"encoding/binary"
	"fmt"
	"strings"

	"brig/internal/program"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// ParentDeath makes the kernel kill the process when its parent has died: PR_SET_PDEATHSIG(2const).
func ParentDeath(p *program.Program, label string) {
	p.Add(label, unix.SYS_PRCTL, program.Named(unix.PR_SET_PDEATHSIG, "PR_SET_PDEATHSIG"),
		program.Named(int(unix.SIGKILL), "SIGKILL"))
}

// JoinKeyring joins a new session keyring: keyctl(2).
func JoinKeyring(p *program.Program, label string) *program.Op {
	return p.Add(label, unix.SYS_KEYCTL, program.Named(unix.KEYCTL_JOIN_SESSION_KEYRING, "KEYCTL_JOIN_SESSION_KEYRING"),
		program.Named(0, "NULL"))
}

// Dumpable sets whether other processes may read and change the process's memory, and who owns its files in /proc:
// PR_SET_DUMPABLE(2const).
func Dumpable(p *program.Program, label string, on int) {
	p.Add(label, unix.SYS_PRCTL, program.Named(unix.PR_SET_DUMPABLE, "PR_SET_DUMPABLE"), program.Int(on))
}

// Umask sets the mask of modes to 022: umask(2).
func Umask(p *program.Program) { p.Add("process", unix.SYS_UMASK, program.Named(0o22, "022")) }

// SetRlimit sets a limit of the process: prlimit(2).
func SetRlimit(p *program.Program, label string, number int, name string, l spec.Rlimit) {
	p.Add(label, unix.SYS_PRLIMIT64, program.Int(0), program.Named(number, "RLIMIT_"+name),
		program.Struct(rlimitBytes(l), showRlimit), program.Named(0, "NULL"))
}

// rlimitBytes returns a struct rlimit64. RLIM_INFINITY has all bits set.
func rlimitBytes(l spec.Rlimit) []byte {
	b := make([]byte, 16)
	binary.NativeEndian.PutUint64(b, uint64(l.Soft))
	binary.NativeEndian.PutUint64(b[8:], uint64(l.Hard))
	return b
}

func showRlimit(b []byte) string {
	text := fmt.Sprintf("{%d, %d}", int64(binary.NativeEndian.Uint64(b)), int64(binary.NativeEndian.Uint64(b[8:])))
	return strings.ReplaceAll(text, "-1", "RLIM_INFINITY")
}

// JoinGroups makes the process join version 1 groups by a write to each file, which takes 15 microseconds. The keeper
// has opened the files, and its permissions apply: cgroups(7).
func JoinGroups(p *program.Program, first program.Slot, n int) {
	for i := range n {
		p.Add("cgroup", unix.SYS_WRITE, (first + program.Slot(i)).Arg(), program.Str("0"), program.Int(1))
	}
}

// RootGroup makes the process's group the root of its cgroup namespace: cgroup_namespaces(7).
func RootGroup(p *program.Program) {
	p.Add("cgroup", unix.SYS_UNSHARE, program.Named(unix.CLONE_NEWCGROUP, "CLONE_NEWCGROUP"))
}

// ExecLabel chooses the label of the program that the process will execute: it writes to an attribute, which must then
// read as told (proc_pid_attr(5)).
func ExecLabel(p *program.Program, label string, dir program.Arg, path, write, read string) {
	fd := p.Open(label, unix.SYS_OPENAT, dir, program.Str(path),
		program.Named(unix.O_RDWR|unix.O_CLOEXEC, "O_RDWR|O_CLOEXEC"), program.Int(0))
	p.Add(label, unix.SYS_WRITE, fd.Arg(), program.Str(write), program.Int(len(write)))
	p.Expect(label, fd, read)
	p.Close(label, fd)
}

// Fprog returns a struct sock_fprog with a filter: seccomp(2).
func Fprog(filter []byte) program.Arg {
	prog := make([]byte, 16)
	binary.NativeEndian.PutUint16(prog, uint16(len(filter)/8))
	return program.Struct(prog, showFilter).WithPointer(8, filter)
}

func showFilter(b []byte) string {
	return fmt.Sprintf("{%d instructions}", binary.NativeEndian.Uint16(b))
}

// A File is a path that a command can have, and the arguments with which it is executed there.
type File struct {
	Path string
	Args []string
}

// Execve executes the first of the files that is there, as execvp(3) does: the kernel tries them at the start. The
// given errnos make it try the next one.
func Execve(p *program.Program, files []File, environ []string, next ...unix.Errno) {
	env := program.Strs(environ)
	for i, f := range files {
		op := p.Add(spec.OpExec, unix.SYS_EXECVE, program.Str(f.Path), program.Strs(f.Args), env)
		if i < len(files)-1 {
			op.May(next...)
		}
	}
}
