package nsjail

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"os"

	"golang.org/x/sys/unix"
)

// netFiles are what /proc/PID/net shows of a network namespace: counters of every protocol and of lo, addresses, routes,
// neighbours, and every socket (proc_pid_net(5)). lo is the only device, so whatever was sent has been counted there,
// and what could not be sent has been counted by its protocol. Those that a kernel does not have are left out.
var netFiles = []string{"dev", "snmp", "snmp6", "netstat", "sockstat", "sockstat6", "if_inet6", "route", "ipv6_route", "fib_triestat",
	"arp", "tcp", "tcp6", "udp", "udp6", "udplite", "udplite6", "raw", "raw6", "icmp", "icmp6", "unix", "packet", "netlink",
	"igmp", "igmp6", "mcfilter", "mcfilter6", "ip6_flowlabel", "anycast6", "dev_mcast", "dev_snmp6/lo", "ptype", "rt6_stats", "rt_acct", "xfrm_stat", "sctp/snmp"}

// netState is a network namespace as it was when it was new, and the open files that show it now: an open file of
// /proc/PID/net stays that of its namespace.
type netState struct {
	fds  []int
	sums []uint64
}

var netSeed = maphash.MakeSeed()

// lookNet reads the state of the namespace that a process is in.
func lookNet(pid int) (*netState, error) {
	s := &netState{}
	for _, name := range netFiles {
		fd, err := unix.Open(fmt.Sprintf("/proc/%d/net/%s", pid, name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == unix.ENOENT || err == unix.ENOTDIR {
			continue
		}
		if err != nil {
			s.close()
			return nil, &os.PathError{Op: "open", Path: "/proc/PID/net/" + name, Err: err}
		}
		s.fds = append(s.fds, fd)
		sum, err := sumFile(fd)
		if err != nil {
			s.close()
			return nil, err
		}
		s.sums = append(s.sums, sum)
	}
	if len(s.fds) < 10 {
		s.close()
		return nil, errNoState
	}
	return s, nil
}

// unchanged says whether everything is as it was. What cannot be read has changed.
func (s *netState) unchanged() bool {
	for i, fd := range s.fds {
		if sum, err := sumFile(fd); err != nil || sum != s.sums[i] {
			return false
		}
	}
	return true
}

func (s *netState) close() {
	if s != nil {
		closeAll(s.fds)
		s.fds = nil
	}
}

func sumFile(fd int) (uint64, error) {
	buf := make([]byte, 16<<10)
	var all bytes.Buffer
	for at := int64(0); ; {
		n, err := unix.Pread(fd, buf, at)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, err
		}
		if n == 0 {
			return maphash.Bytes(netSeed, all.Bytes()), nil
		}
		all.Write(buf[:n])
		at += int64(n)
	}
}
