package seccomp

import (
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// guardTable returns the filter that is loaded in addition to a profile from a file. It allows everything but the calls
// that the default profile refuses for their arguments. With those a payload could affect the host's processes and
// terminals, or prevent the end of its own jail.
//
// With files, for a jail that may write to a directory of the host, it also refuses to set S_ISUID or S_ISGID on a
// file. Such a file would keep its owner's rights on the host, where the jail's nosuid mount has no effect. This holds
// for an empty file, too: a write clears the bits, but not if the writer has CAP_FSETID, as the host's root has.
func guardTable(files, init bool) (*Table, error) {
	p := &Profile{DefaultAction: "SCMP_ACT_ALLOW", ArchMap: Default().ArchMap}
	p.guardArgs()
	if files {
		p.guardFiles()
	}
	return p.WithInit(init).Resolve(Target{Arch: runtime.GOARCH})
}

// WithInit returns the profile for a jail with brig's init as process 1, or else for one whose payload is process 1
// itself: without the rules that protect process 1.
func (p *Profile) WithInit(init bool) *Profile {
	if init {
		return p
	}
	q := *p
	q.Syscalls = slices.DeleteFunc(slices.Clone(p.Syscalls), func(s Syscall) bool {
		pid := uint(0)
		if slices.Contains(s.Names, "setpriority") {
			pid = 1 // its first argument tells what the second is
		} else if !slices.Contains(s.Names, "sched_setaffinity") {
			return false
		}
		return s.Action == "SCMP_ACT_ERRNO" && slices.Equal(s.Args, []Arg{is(pid, 1)})
	})
	return &q
}

// guardArgs adds the rules of the default profile that look at arguments. They include preceding allow rules: the order
// counts.
func (p *Profile) guardArgs() {
	for _, s := range Default().Syscalls {
		if len(s.Args) > 0 {
			p.Syscalls = append(p.Syscalls, s)
		}
	}
}

func (p *Profile) guardFiles() {
	for _, bit := range []uint64{unix.S_ISUID, unix.S_ISGID} {
		for _, c := range []struct {
			name string
			mode uint
		}{{"chmod", 1}, {"fchmod", 1}, {"creat", 1}, {"mknod", 1}, {"fchmodat", 2}, {"fchmodat2", 2}, {"mknodat", 2}} {
			p.denyIf(unix.EPERM, c.name, has(c.mode, bit))
		}
		for _, creates := range []uint64{unix.O_CREAT, unix.O_TMPFILE &^ unix.O_DIRECTORY} {
			p.denyIf(unix.EPERM, "open", has(1, creates), has(2, bit))
			p.denyIf(unix.EPERM, "openat", has(2, creates), has(3, bit))
		}
	}
	// the mode of openat2 is behind a pointer, and io_uring opens files without a system call that a filter sees
	for _, name := range []string{"openat2", "io_uring_setup"} {
		p.deny(unix.ENOSYS, name)
	}
}

// allow adds a rule that allows a call if all conditions hold.
func (p *Profile) allow(name string, args ...Arg) {
	p.Syscalls = append(p.Syscalls, Syscall{Names: []string{name}, Action: "SCMP_ACT_ALLOW", Args: args})
}

// deny adds a rule that refuses calls.
func (p *Profile) deny(errno unix.Errno, names ...string) {
	e := uint(errno)
	p.Syscalls = append(p.Syscalls, Syscall{Names: names, Action: "SCMP_ACT_ERRNO", ErrnoRet: &e})
}

// denyIf adds a rule that refuses a call if all conditions hold.
func (p *Profile) denyIf(errno unix.Errno, name string, args ...Arg) {
	p.deny(errno, name)
	p.Syscalls[len(p.Syscalls)-1].Args = args
}

// has is the condition that an argument has a bit.
func has(index uint, bit uint64) Arg { return masked(index, bit, bit) }

// is is the condition that an argument has a value. The kernel reads 32 bits of it.
func is(index uint, value uint64) Arg { return masked(index, 1<<32-1, value) }

func masked(index uint, mask, value uint64) Arg {
	return Arg{Index: index, Value: mask, ValueTwo: value, Op: "SCMP_CMP_MASKED_EQ"}
}

// openTable returns the filter of a jail that is otherwise open (nsjail/internal/ordered): what lets a payload out of
// its network or into its caller's terminal, and that no ordinary program needs.
func openTable() (*Table, error) {
	p := &Profile{DefaultAction: "SCMP_ACT_ALLOW", ArchMap: Default().ArchMap}
	for _, family := range []uint64{unix.AF_VSOCK, unix.AF_ALG} {
		p.denyIf(unix.EAFNOSUPPORT, "socket", is(0, family))
	}
	const fioasync = 0x5452 // ioctl_tty(2)
	for _, request := range []uint64{unix.TIOCSTI, unix.TIOCLINUX, fioasync} {
		p.denyIf(unix.EPERM, "ioctl", is(1, request))
	}
	// signals at the next key of a terminal, or the next event of any descriptor, for processes of the host: fcntl(2)
	p.denyIf(unix.EPERM, "fcntl", is(1, unix.F_SETSIG))
	p.denyIf(unix.EPERM, "fcntl", is(1, unix.F_SETFL), has(2, unix.O_ASYNC))
	return p.Resolve(Target{Arch: runtime.GOARCH})
}
