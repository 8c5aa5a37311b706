package rig

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Packet is the protocol and destination of packets that left H.
type Packet struct {
	Proto string // tcp, udp, icmp, icmpv6, or the number
	To    netip.AddrPort
}

// String returns a text for a test's message.
func (p Packet) String() string { return p.Proto + " " + p.To.String() }

// Capture records each packet that leaves H by its cable. Safe for concurrent use.
type Capture struct {
	file *os.File
	fd   int
	mu   sync.Mutex
	seen map[Packet]int
	bad  int    // frames too short to read
	mark uint16 // the port of the last mark
}

var errShort = errors.New("a frame that is too short, or of no known kind")

func newCapture(device string) (*Capture, error) {
	dev, err := net.InterfaceByName(device)
	if err != nil {
		return nil, err
	}
	proto := binary.NativeEndian.Uint16([]byte{unix.ETH_P_ALL >> 8, unix.ETH_P_ALL & 0xff})
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("socket(AF_PACKET): %w", err)
	}
	// in a user namespace the kernel's limit holds; losses are counted either way
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20) != nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 16<<20)
	}
	list := bulkFilter()
	filter := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	err = errors.Join(err, unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &filter))
	err = errors.Join(err, unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: proto, Ifindex: dev.Index}))
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	c := &Capture{file: os.NewFile(uintptr(fd), "capture"), fd: fd, seen: map[Packet]int{}}
	go c.read()
	return c, nil
}

func (c *Capture) read() {
	frame := make([]byte, 128)
	for {
		n, err := c.file.Read(frame)
		if err != nil {
			return
		}
		p, counts, err := parseFrame(frame[:n])
		c.mu.Lock()
		if err != nil {
			c.bad++
		} else if counts {
			c.seen[p]++
		}
		c.mu.Unlock()
	}
}

// parseFrame returns the packet in a frame. It returns false for ARP, neighbour discovery and multicast reports, which
// are traffic of the kernel itself.
func parseFrame(f []byte) (p Packet, counts bool, err error) {
	if len(f) < 14 {
		return p, false, errShort
	}
	var proto byte
	var to netip.Addr
	body := f[14:]
	switch ether := binary.BigEndian.Uint16(f[12:]); {
	case ether == unix.ETH_P_ARP:
		return p, false, nil
	case ether == unix.ETH_P_IP && len(body) >= 20:
		proto, to = body[9], netip.AddrFrom4([4]byte(body[16:20]))
		body = body[min(int(body[0]&15)*4, len(body)):]
	case ether == unix.ETH_P_IPV6 && len(body) >= 40:
		proto, to, body = body[6], netip.AddrFrom16([16]byte(body[24:40])), body[40:]
		if proto == unix.IPPROTO_HOPOPTS && len(body) >= 8 {
			proto, body = body[0], body[min(8+8*int(body[1]), len(body)):]
		}
		if proto == unix.IPPROTO_ICMPV6 && len(body) > 0 && (body[0] >= 130 && body[0] <= 137 || body[0] == 143) {
			return p, false, nil
		}
	default:
		return p, false, errShort
	}
	names := map[byte]string{unix.IPPROTO_TCP: "tcp", unix.IPPROTO_UDP: "udp", unix.IPPROTO_ICMP: "icmp",
		unix.IPPROTO_ICMPV6: "icmpv6"}
	name := cmp.Or(names[proto], fmt.Sprintf("protocol %d", proto))
	port := uint16(0)
	if (name == "tcp" || name == "udp") && len(body) >= 4 {
		port = binary.BigEndian.Uint16(body[2:])
	}
	return Packet{name, netip.AddrPortFrom(to, port)}, true, nil
}

// Take returns the packets that have left since the last Take, sorted, and forgets them. An error means that packets
// are missing.
func (c *Capture) Take() ([]Packet, error) {
	if err := c.sync(); err != nil {
		return nil, err
	}
	stats, err := unix.GetsockoptTpacketStats(c.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS) // reading sets them to 0
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	list := slices.SortedFunc(maps.Keys(c.seen), func(a, b Packet) int {
		return cmp.Or(a.To.Compare(b.To), len(a.Proto)-len(b.Proto))
	})
	clear(c.seen)
	if stats.Drops > 0 || c.bad > 0 {
		return list, fmt.Errorf("the capture has lost %d packets and could not read %d", stats.Drops, c.bad)
	}
	return list, nil
}

// sync sends a mark and waits until the capture has read it, and so all packets before it.
func (c *Capture) sync() error {
	c.mark = max(c.mark, 40000) + 1
	to := netip.AddrPortFrom(netip.MustParseAddr(WorldAddr), c.mark)
	conn, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(to))
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("mark")); err != nil {
		return err
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		c.mu.Lock()
		seen := c.seen[Packet{"udp", to}] > 0
		delete(c.seen, Packet{"udp", to})
		c.mu.Unlock()
		if seen {
			return nil
		}
	}
	return errors.New("the capture does not see what this process sends: it proves nothing")
}

// bulkFilter accepts what H sends, but for what would fill the capture's buffer: the data of TCP connections to the
// good address, whose SYN the capture has seen.
func bulkFilter() []unix.SockFilter {
	good := netip.MustParseAddr(GoodAddr).As4()
	const (
		pktType = 0xfffff000 + 4 // SKF_AD_OFF + SKF_AD_PKTTYPE of linux/filter.h: packet(7) sll_pkttype
		load    = unix.BPF_LD | unix.BPF_ABS
		equal   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	)
	return []unix.SockFilter{
		{Code: load | unix.BPF_B, K: pktType},
		{Code: equal, K: unix.PACKET_OUTGOING, Jf: 10}, // to H: drop
		{Code: load | unix.BPF_H, K: 12},
		{Code: equal, K: unix.ETH_P_IP, Jf: 7},
		{Code: load | unix.BPF_B, K: 14 + 9},
		{Code: equal, K: unix.IPPROTO_TCP, Jf: 5},
		{Code: load | unix.BPF_W, K: 14 + 16},
		{Code: equal, K: binary.BigEndian.Uint32(good[:]), Jf: 3},
		{Code: unix.BPF_LDX | unix.BPF_B | unix.BPF_MSH, K: 14},
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_IND, K: 14 + 13},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: 2, Jf: 1}, // no SYN: drop
		{Code: unix.BPF_RET | unix.BPF_K, K: 128},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	}
}
