package seccomp

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// guardTable returns the filter that is loaded in addition to a profile from a file. It allows everything but the calls
// that the default profile refuses for their arguments. With those a payload could affect the host's processes and
// terminals, or prevent the end of its own jail.
//
// With files, for a jail that may write to a directory of the host, it also refuses to set S_ISUID or S_ISGID on a
// file. Such a file would keep its owner's rights on the host, where the jail's nosuid mount has no effect. This holds
// for an empty file, too: a write clears the bits, but not if the writer has CAP_FSETID, as the host's root has.
func guardTable(files bool) (*Table, error) {
	p := &Profile{DefaultAction: "SCMP_ACT_ALLOW", ArchMap: Default().ArchMap}
	p.guardArgs()
	if files {
		p.guardFiles()
	}
	return p.Resolve(Target{Arch: runtime.GOARCH})
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
	eperm, enosys := uint(unix.EPERM), uint(unix.ENOSYS)
	deny := func(name string, args ...Arg) {
		p.Syscalls = append(p.Syscalls, Syscall{Names: []string{name}, Action: "SCMP_ACT_ERRNO", ErrnoRet: &eperm,
			Args: args})
	}
	has := func(index uint, bit uint64) Arg {
		return Arg{Index: index, Value: bit, ValueTwo: bit, Op: "SCMP_CMP_MASKED_EQ"}
	}
	for _, bit := range []uint64{unix.S_ISUID, unix.S_ISGID} {
		for _, c := range []struct {
			name string
			mode uint
		}{{"chmod", 1}, {"fchmod", 1}, {"creat", 1}, {"mknod", 1}, {"fchmodat", 2}, {"fchmodat2", 2}, {"mknodat", 2}} {
			deny(c.name, has(c.mode, bit))
		}
		for _, creates := range []uint64{unix.O_CREAT, unix.O_TMPFILE &^ unix.O_DIRECTORY} {
			deny("open", has(1, creates), has(2, bit))
			deny("openat", has(2, creates), has(3, bit))
		}
	}
	// the mode of openat2 is behind a pointer, and io_uring opens files without a system call that a filter sees
	for _, name := range []string{"openat2", "io_uring_setup"} {
		p.Syscalls = append(p.Syscalls, Syscall{Names: []string{name}, Action: "SCMP_ACT_ERRNO", ErrnoRet: &enosys})
	}
}

// openTable returns the filter of a jail that is otherwise open (nsjail/internal/ordered): what lets a payload out of
// its network or into its caller's terminal, and that no ordinary program needs.
func openTable() (*Table, error) {
	p := &Profile{DefaultAction: "SCMP_ACT_ALLOW", ArchMap: Default().ArchMap}
	deny := func(errno unix.Errno, name string, index uint, mask, value uint64, more ...Arg) {
		e := uint(errno)
		args := append([]Arg{{Index: index, Value: mask, ValueTwo: value, Op: "SCMP_CMP_MASKED_EQ"}}, more...)
		p.Syscalls = append(p.Syscalls, Syscall{Names: []string{name}, Action: "SCMP_ACT_ERRNO", ErrnoRet: &e, Args: args})
	}
	const all = 1<<32 - 1 // the kernel reads these arguments as 32 bits
	for _, family := range []uint64{unix.AF_VSOCK, unix.AF_ALG} {
		deny(unix.EAFNOSUPPORT, "socket", 0, all, family)
	}
	const fioasync = 0x5452 // ioctl_tty(2)
	for _, request := range []uint64{unix.TIOCSTI, unix.TIOCLINUX, fioasync} {
		deny(unix.EPERM, "ioctl", 1, all, request)
	}
	// signals at the next key of a terminal, or the next event of any descriptor, for processes of the host: fcntl(2)
	deny(unix.EPERM, "fcntl", 1, all, unix.F_SETSIG)
	deny(unix.EPERM, "fcntl", 1, all, unix.F_SETFL, Arg{Index: 2, Value: unix.O_ASYNC, ValueTwo: unix.O_ASYNC,
		Op: "SCMP_CMP_MASKED_EQ"})
	return p.Resolve(Target{Arch: runtime.GOARCH})
}
