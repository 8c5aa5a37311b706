package nsjail

import (
	"bytes"
	"errors"
	"hash/maphash"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// netFiles are what /proc/PID/net shows of a network namespace: counters of every protocol and of lo, addresses, routes,
// neighbours, and every socket (proc_pid_net(5)). lo is the only device, so whatever was sent has been counted there,
// and what could not be sent has been counted by its protocol. Those that a kernel does not have are left out.
var netFiles = []string{"dev", "snmp", "snmp6", "netstat", "sockstat", "sockstat6", "if_inet6", "route", "ipv6_route", "fib_triestat",
	"arp", "tcp", "tcp6", "udp", "udp6", "udplite", "udplite6", "raw", "raw6", "icmp", "icmp6", "unix", "packet", "netlink",
	"igmp", "igmp6", "mcfilter", "mcfilter6", "ip6_flowlabel", "anycast6", "dev_mcast", "dev_snmp6/lo", "ptype", "rt6_stats", "rt_acct", "xfrm_stat", "sctp/snmp"}

// netState is what they said of a network namespace.
type netState []uint64

var netSeed = maphash.MakeSeed()

// lookNet reads the state of the namespace that a process is in.
func lookNet(pid int) (s netState, err error) {
	seen := 0
	for _, name := range netFiles {
		text, err := readFile("/proc/" + strconv.Itoa(pid) + "/net/" + name)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
			s = append(s, 0)
			continue
		}
		if err != nil {
			return nil, err
		}
		seen++
		s = append(s, maphash.Bytes(netSeed, ownCounts(name, text)))
	}
	if seen < 10 {
		return nil, errNoState
	}
	return s, nil
}

// ownCounts leaves out of sockstat what the kernel counts for all network namespaces together.
func ownCounts(name string, text []byte) []byte {
	if name != "sockstat" && name != "sockstat6" {
		return text
	}
	words := bytes.Fields(text)
	for i := 1; i < len(words); i++ {
		switch string(words[i-1]) {
		case "orphan", "alloc", "mem":
			words[i] = nil
		}
	}
	return bytes.Join(words, []byte(" "))
}

// again reads the state of a namespace that stood ready, through the outfitter, which enters it.
func (e *netEntry) again() (now netState, err error) {
	fd, err := e.pool.outfit.do(enterProgram(), func(pid int) (err error) {
		now, err = lookNet(pid)
		return err
	}, e.fd)
	if err == nil {
		unix.Close(fd)
	}
	return now, err
}

// unchanged says whether everything is as it was. What cannot be read has changed.
func (e *netEntry) unchanged() bool {
	now, err := e.again()
	return err == nil && slices.Equal(now, e.seen)
}
