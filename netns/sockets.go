package netns

import (
	"encoding/binary"
	"fmt"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// Role is the purpose of a socket in a jail's namespace.
type Role string

// The roles.
const (
	RoleDNS      Role = "dns"       // UDP port 53
	RoleDNSTCP   Role = "dns-tcp"   // TCP port 53
	RoleTCP      Role = "tcp"       // listens on a port of the policy
	RoleCatchAll Role = "catch-all" // listens for connections redirected by the namespace's nft rule
	RoleUDP      Role = "udp"       // receives on a port of the policy
	RoleTap      Role = "tap"       // a raw(7) socket that sees attempts at ports without a listener
	RoleDial     Role = "dial"      // not connected yet: for a published port
)

// Socket is a socket that the jail's first process opens and passes to the keeper.
type Socket struct {
	Role     Role
	Port     uint16 // listening or receiving
	Protocol int    // IPPROTO_TCP or IPPROTO_UDP
	IPv6     bool   // AF_INET6, which receives IPv4 too unless it is a tap
}

// Sockets describes the sockets of a jail's namespace.
type Sockets struct {
	// TCP and UDP are the ports of a policy. With All, TCP is every port, by an nft redirect in the namespace.
	TCP, UDP []uint16
	All      bool
	// Egress makes every address local and adds port 53 and the taps.
	Egress bool
	// IPv6 reports whether the kernel supports it.
	IPv6 bool
	// Dial is the number of unconnected sockets for published ports.
	Dial int
}

// catchAllPort receives redirected connections. It is below the ephemeral ports (ip(7)), and IANA has not assigned it.
const catchAllPort = 28_672 + 75

// backlog is bounded by net.core.somaxconn: listen(2).
const backlog = 4096

// List returns the sockets in the order in which they are passed.
func (c *Sockets) List() (list []Socket) {
	if c.Egress {
		list = append(list, Socket{RoleDNS, 53, unix.IPPROTO_UDP, c.IPv6},
			Socket{RoleDNSTCP, 53, unix.IPPROTO_TCP, c.IPv6})
		for _, port := range c.TCP {
			list = append(list, Socket{RoleTCP, port, unix.IPPROTO_TCP, c.IPv6})
		}
		if c.All {
			list = append(list, Socket{RoleCatchAll, catchAllPort, unix.IPPROTO_TCP, c.IPv6})
		}
		for _, port := range c.UDP {
			list = append(list, Socket{RoleUDP, port, unix.IPPROTO_UDP, c.IPv6})
		}
		for _, protocol := range []int{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
			list = append(list, Socket{Role: RoleTap, Protocol: protocol})
			if c.IPv6 {
				list = append(list, Socket{Role: RoleTap, Protocol: protocol, IPv6: true})
			}
		}
	}
	for range c.Dial {
		list = append(list, Socket{Role: RoleDial, Protocol: unix.IPPROTO_TCP})
	}
	return list
}

// Open appends the operations that the jail's first process performs while it has its capabilities. With Egress every
// address becomes local. Each socket is opened and duplicated to a fixed number, from first on. lo must be up.
func (c *Sockets) Open(p *program.Program, first int) {
	if c.Egress {
		anyIP(p, c.IPv6)
	}
	list := c.List()
	for i, s := range list {
		c.socket(p, s, list, first+i)
	}
	if c.All {
		redirect(p, c.IPv6)
	}
}

// shape is what a socket is, in numbers and in the names of a printed plan.
type shape struct {
	domain, kind         int
	domainName, kindName string
	listens              bool
}

func (s Socket) shape() shape {
	h := shape{unix.AF_INET, unix.SOCK_STREAM, "AF_INET", "SOCK_STREAM", s.Role != RoleDial}
	if s.IPv6 {
		h.domain, h.domainName = unix.AF_INET6, "AF_INET6"
	}
	switch {
	case s.Role == RoleTap:
		h.kind, h.kindName, h.listens = unix.SOCK_RAW, "SOCK_RAW", false
	case s.Protocol == unix.IPPROTO_UDP:
		h.kind, h.kindName, h.listens = unix.SOCK_DGRAM, "SOCK_DGRAM", false
	}
	return h
}

// socket opens one socket at its descriptor number: socket(2), ip(7), ipv6(7), udp(7), listen(2).
func (c *Sockets) socket(p *program.Program, s Socket, all []Socket, number int) {
	h, protocol := s.shape(), program.Named(s.Protocol, "IPPROTO_TCP")
	if s.Protocol == unix.IPPROTO_UDP {
		protocol = program.Named(s.Protocol, "IPPROTO_UDP")
	}
	fd := p.Open("net", unix.SYS_SOCKET, program.Named(h.domain, h.domainName),
		program.Named(h.kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, h.kindName+"|SOCK_NONBLOCK|SOCK_CLOEXEC"), protocol)
	ipv6 := func(opt int, name string, value int) {
		if s.IPv6 {
			option(p, fd, unix.IPPROTO_IPV6, "IPPROTO_IPV6", opt, name, value)
		}
	}
	if h.kind == unix.SOCK_RAW {
		served := ports(all, s.Protocol)
		attach(p, fd, fmt.Sprintf("{attempts at none of %d ports}", len(served)), tapFilter(s, served))
		ipv6(unix.IPV6_RECVPKTINFO, "IPV6_RECVPKTINFO", 1)
	} else {
		ipv6(unix.IPV6_V6ONLY, "IPV6_V6ONLY", 0) // a sysctl of the host could have changed it
	}
	if h.kind == unix.SOCK_DGRAM { // an answer must come from the address of the question: ip(7) IP_PKTINFO
		if !s.IPv6 {
			option(p, fd, unix.IPPROTO_IP, "IPPROTO_IP", unix.IP_PKTINFO, "IP_PKTINFO", 1)
		}
		ipv6(unix.IPV6_RECVPKTINFO, "IPV6_RECVPKTINFO", 1)
		// IPv6 requires that a source address is assigned to an interface, even if a route makes it local
		ipv6(unix.IPV6_FREEBIND, "IPV6_FREEBIND", 1)
	}
	if s.Port != 0 {
		address, text := anyAddress(s)
		p.Add("net", unix.SYS_BIND, fd.Arg(), program.Struct(address, program.Text(text)), program.Int(len(address)))
	}
	if h.listens {
		p.Add("net", unix.SYS_LISTEN, fd.Arg(), program.Int(backlog))
	}
	p.Add("net", unix.SYS_DUP3, fd.Arg(), program.Int(number), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
	p.Close("net", fd)
}

// ports returns the ports that have a socket, which a tap leaves out.
func ports(list []Socket, protocol int) (out []uint16) {
	for _, s := range list {
		if s.Port != 0 && s.Protocol == protocol {
			out = append(out, s.Port)
		}
	}
	return out
}

func option(p *program.Program, fd program.Slot, level int, levelName string, opt int, name string, value int) {
	v := binary.NativeEndian.AppendUint32(nil, uint32(value))
	p.Add("net", unix.SYS_SETSOCKOPT, fd.Arg(), program.Named(level, levelName), program.Named(opt, name),
		program.Struct(v, program.Text(fmt.Sprintf("[%d]", value))), program.Int(len(v)))
}

// anyAddress returns a struct sockaddr_in or sockaddr_in6 with the wildcard address, and its text.
func anyAddress(s Socket) (b []byte, text string) {
	b, text = make([]byte, unix.SizeofSockaddrInet4), fmt.Sprintf("{0.0.0.0:%d}", s.Port)
	if s.IPv6 {
		b, text = make([]byte, unix.SizeofSockaddrInet6), fmt.Sprintf("{[::]:%d}", s.Port)
	}
	binary.NativeEndian.PutUint16(b, uint16(s.shape().domain))
	binary.BigEndian.PutUint16(b[2:], s.Port)
	return b, text
}
