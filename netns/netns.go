// Package netns generates the system calls that set up a jail's network namespace. They bring lo up and, for egress,
// open the sockets that the jail's first process passes to the keeper. The package performs none of these calls; only
// Verify inspects descriptors.
package netns

import (
	"encoding/binary"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// ifreqSize is sizeof(struct ifreq): netdevice(7).
const ifreqSize = 40

// Loopback appends the operations that bring lo up in the jail's network namespace. It uses ioctl(2), which returns its
// error at once; RTM_SETLINK would answer with a message, which the launcher cannot parse. lookups is the descriptor
// number of a socket that hears of lookups (egress.LookedUp), or 0.
func Loopback(p *program.Program, lookups int) {
	ifr := make([]byte, ifreqSize)
	copy(ifr, "lo")
	binary.NativeEndian.PutUint16(ifr[unix.IFNAMSIZ:], unix.IFF_UP|unix.IFF_RUNNING)
	s := anySocket(p)
	p.Add("net", unix.SYS_IOCTL, s.Arg(), program.Named(unix.SIOCSIFFLAGS, "SIOCSIFFLAGS"),
		program.Struct(ifr, program.Text(`{ifr_name="lo", ifr_flags=IFF_UP|IFF_RUNNING}`)))
	hear(p, s, lookups)
	p.Close("net", s)
}

// FreePorts lets the users of the namespace bind all ports, as in any container: nobody else is in it. Since Linux 4.11
// ip_unprivileged_port_start (ip(7)) is a namespace's own; it is 1024 in a new one. dir is a
// descriptor, and path leads from it to a /proc/sys.
func FreePorts(p *program.Program, dir program.Arg, path string) {
	fd := p.Open("net", unix.SYS_OPENAT, dir, program.Str(path+"net/ipv4/ip_unprivileged_port_start"),
		program.Named(unix.O_WRONLY|unix.O_CLOEXEC, "O_WRONLY|O_CLOEXEC"), program.Int(0))
	p.Add("net", unix.SYS_WRITE, fd.Arg(), program.Str("0"), program.Int(1))
	p.Close("net", fd)
}

// anySocket opens a socket for requests that concern its namespace.
func anySocket(p *program.Program) program.Slot {
	return p.Open("net", unix.SYS_SOCKET, program.Named(unix.AF_INET, "AF_INET"),
		program.Named(unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, "SOCK_DGRAM|SOCK_CLOEXEC"), program.Int(0))
}

// Descriptor opens the process's network namespace without procfs: ioctl(2) SIOCGSKNS, Linux 4.10.
func Descriptor(p *program.Program) program.Slot {
	s := anySocket(p)
	ns := p.Open("net", unix.SYS_IOCTL, s.Arg(), program.Named(unix.SIOCGSKNS, "SIOCGSKNS"), program.Int(0))
	p.Close("net", s)
	return ns
}
