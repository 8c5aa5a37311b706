package netns

import (
	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// hear replaces s, any socket, by one with the descriptor number fd, too, unless that is 0. It receives the errors of
// ICMP. The kernel sends one for each datagram to a port at which no socket is bound, such as that of a resolver which
// the jail lacks, and quotes the datagram: icmp(7). egress.LookedUp reads it. Where an outer sandbox forbids it, fd is
// what s was, which gets nothing.
func hear(p *program.Program, s program.Slot, fd int) {
	if fd == 0 {
		return
	}
	p.Add("net", unix.SYS_SOCKET, program.Named(unix.AF_INET, "AF_INET"),
		program.Named(unix.SOCK_RAW|unix.SOCK_CLOEXEC, "SOCK_RAW|SOCK_CLOEXEC"),
		program.Named(unix.IPPROTO_ICMP, "IPPROTO_ICMP")).May(unix.EPERM, unix.EACCES, unix.EPROTONOSUPPORT).Save = s
	p.Add("net", unix.SYS_DUP3, s.Arg(), program.Int(fd), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
}
