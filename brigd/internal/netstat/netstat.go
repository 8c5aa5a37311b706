// Package netstat reads from procfs which TCP ports of a network namespace are listened on. The text is the kernel's;
// which ports are in it, and how many, the processes there decide.
package netstat

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net/netip"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// MaxPorts is how many ports Listening returns at most.
	MaxPorts = 1024
	// maxText is how much of a table is read: listening sockets come first.
	maxText = 1 << 20
	listen  = "0A" // TCP_LISTEN of net/tcp_states.h
)

// Port is a port that can be reached by the loopback interface.
type Port struct {
	Number    int
	Addresses []netip.Addr // on which it is listened on
}

// Listening returns the ports of the network of a process, in their order. dir is the process's directory in procfs.
func Listening(dir *os.File) ([]Port, error) {
	found := map[int][]netip.Addr{}
	for _, name := range []string{"net/tcp", "net/tcp6"} {
		fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: name, Err: err}
		}
		f := os.NewFile(uintptr(fd), name)
		err = errors.Join(collect(io.LimitReader(f, maxText), found), f.Close())
		if err != nil {
			return nil, err
		}
	}
	return sorted(found), nil
}

func sorted(found map[int][]netip.Addr) []Port {
	list := make([]Port, 0, len(found))
	for n, addrs := range found {
		slices.SortFunc(addrs, netip.Addr.Compare)
		list = append(list, Port{n, slices.Compact(addrs)})
	}
	slices.SortFunc(list, func(a, b Port) int { return a.Number - b.Number })
	return list[:min(len(list), MaxPorts)]
}

// collect adds the ports of one table, proc_pid_net(5): a number, the local address and port, the remote ones, the
// state.
func collect(r io.Reader, found map[int][]netip.Addr) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := bytes.Fields(lines.Bytes())
		if len(f) < 4 || string(f[3]) != listen {
			continue
		}
		if a, ok := local(f[1]); ok && (a.Addr().IsUnspecified() || a.Addr().IsLoopback()) {
			found[int(a.Port())] = append(found[int(a.Port())], a.Addr())
		}
	}
	return lines.Err()
}

// local reads an address: words of 32 bits as the machine has them in memory, in hexadecimal, and a port.
func local(text []byte) (netip.AddrPort, bool) {
	host, port, _ := bytes.Cut(text, []byte{':'})
	n, err := strconv.ParseUint(string(port), 16, 16)
	raw := make([]byte, hex.DecodedLen(len(host)))
	if _, bad := hex.Decode(raw, host); bad != nil || err != nil || n == 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i+4 <= len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	a, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(a.Unmap(), uint16(n)), ok
}
