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

// CatchAllPort receives redirected connections. It is below the ephemeral ports (ip(7)), and IANA has not assigned it.
const CatchAllPort = 28_672 + 75

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
			list = append(list, Socket{RoleCatchAll, CatchAllPort, unix.IPPROTO_TCP, c.IPv6})
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

func (c *Sockets) socket(p *program.Program, s Socket, all []Socket, number int) {
	domain := program.Named(unix.AF_INET, "AF_INET")
	if s.IPv6 {
		domain = program.Named(unix.AF_INET6, "AF_INET6")
	}
	kind, name := unix.SOCK_STREAM, "SOCK_STREAM"
	switch {
	case s.Role == RoleTap:
		kind, name = unix.SOCK_RAW, "SOCK_RAW"
	case s.Protocol == unix.IPPROTO_UDP:
		kind, name = unix.SOCK_DGRAM, "SOCK_DGRAM"
	}
	fd := p.Open("net", unix.SYS_SOCKET, domain,
		program.Named(kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, name+"|SOCK_NONBLOCK|SOCK_CLOEXEC"),
		protocolName(s.Protocol))
	if s.IPv6 && s.Role != RoleTap { // ipv6(7): a sysctl of the host could have changed it
		option(p, fd, unix.IPPROTO_IPV6, "IPPROTO_IPV6", unix.IPV6_V6ONLY, "IPV6_V6ONLY", 0)
	}
	switch s.Role {
	case RoleTap:
		served := ports(all, s.Protocol)
		attach(p, fd, fmt.Sprintf("{attempts at none of %d ports}", len(served)), tapFilter(s, served))
		if s.IPv6 {
			option(p, fd, unix.IPPROTO_IPV6, "IPPROTO_IPV6", unix.IPV6_RECVPKTINFO, "IPV6_RECVPKTINFO", 1)
		}
	case RoleDial:
	default:
		c.listen(p, fd, s)
	}
	p.Add("net", unix.SYS_DUP3, fd.Arg(), program.Int(number), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
	p.Close("net", fd)
}

// listen binds a socket to its port on all addresses: ip(7), udp(7), listen(2).
func (c *Sockets) listen(p *program.Program, fd program.Slot, s Socket) {
	if s.Protocol == unix.IPPROTO_UDP { // an answer must come from the address of the question: ip(7) IP_PKTINFO
		if s.IPv6 {
			option(p, fd, unix.IPPROTO_IPV6, "IPPROTO_IPV6", unix.IPV6_RECVPKTINFO, "IPV6_RECVPKTINFO", 1)
			// IPv6 requires that a source address is assigned to an interface, even if a route makes it local: ipv6(7)
			option(p, fd, unix.IPPROTO_IPV6, "IPPROTO_IPV6", unix.IPV6_FREEBIND, "IPV6_FREEBIND", 1)
		} else {
			option(p, fd, unix.IPPROTO_IP, "IPPROTO_IP", unix.IP_PKTINFO, "IP_PKTINFO", 1)
		}
	}
	p.Add("net", unix.SYS_BIND, fd.Arg(), anyAddress(s), program.Int(len(sockaddr(s))))
	if s.Protocol == unix.IPPROTO_TCP {
		p.Add("net", unix.SYS_LISTEN, fd.Arg(), program.Int(backlog))
	}
}

func protocolName(protocol int) program.Arg {
	if protocol == unix.IPPROTO_UDP {
		return program.Named(protocol, "IPPROTO_UDP")
	}
	return program.Named(protocol, "IPPROTO_TCP")
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

// sockaddr returns a struct sockaddr_in or sockaddr_in6 with the wildcard address.
func sockaddr(s Socket) []byte {
	b, f := make([]byte, unix.SizeofSockaddrInet4), uint16(unix.AF_INET)
	if s.IPv6 {
		b, f = make([]byte, unix.SizeofSockaddrInet6), unix.AF_INET6
	}
	binary.NativeEndian.PutUint16(b, f)
	binary.BigEndian.PutUint16(b[2:], s.Port)
	return b
}

func anyAddress(s Socket) program.Arg {
	text := fmt.Sprintf("{0.0.0.0:%d}", s.Port)
	if s.IPv6 {
		text = fmt.Sprintf("{[::]:%d}", s.Port)
	}
	return program.Struct(sockaddr(s), program.Text(text))
}
