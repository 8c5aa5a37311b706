package trace

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxPath is PATH_MAX, with its null.
const maxPath = 4096

// peek reads up to len(to) bytes of a process's memory, and returns those that it got: process_vm_readv(2). It never
// reads across a page in one step, since what follows may not be there.
func peek(pid int, addr uint64, to []byte) []byte {
	const page = 4096
	got := 0
	for got < len(to) {
		part := to[got:min(len(to), got+int(page-(addr+uint64(got))%page))]
		local := []unix.Iovec{{Base: &part[0]}}
		local[0].SetLen(len(part))
		n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(addr) + uintptr(got), Len: len(part)}}, 0)
		if err != nil || n <= 0 {
			break
		}
		got += n
	}
	return to[:got]
}

// text reads a string that ends with a null. ok is false for one that is not in memory, or longer than a path can be.
func text(pid int, addr uint64) (s string, ok bool) {
	var buf [maxPath]byte
	if addr == 0 {
		return "", false
	}
	for size := 256; size <= maxPath; size *= 4 { // most paths are short
		got := peek(pid, addr, buf[:size])
		if i := bytes.IndexByte(got, 0); i >= 0 {
			return string(got[:i]), true
		}
		if len(got) < size {
			return "", false
		}
	}
	return "", false
}

// absolute returns the clean absolute path in the jail of what a call has named, or "". The link of a descriptor and of
// the working directory shows the path in the jail, since the jail's root is the top of its mounts: proc_pid_fd(5).
func absolute(proc link, pid int, dir uint64, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	at := "cwd"
	if fd := int32(uint32(dir)); fd != unix.AT_FDCWD {
		if fd < 0 {
			return ""
		}
		at = "fd/" + strconv.Itoa(int(fd))
	}
	base := proc(pid, at)
	if !path.IsAbs(base) || strings.HasSuffix(base, " (deleted)") {
		return ""
	}
	return path.Join(base, name)
}

// link reads a symbolic link of /proc/PID.
type link func(pid int, name string) string

// address parses a struct sockaddr: ip(7), ipv6(7), unix(7). It is an address, or the path of a socket.
func address(b []byte) (to netip.AddrPort, path string) {
	if len(b) < 4 {
		return to, ""
	}
	port := binary.BigEndian.Uint16(b[2:])
	switch family := binary.NativeEndian.Uint16(b); {
	case family == unix.AF_INET && len(b) >= 8:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port), ""
	case family == unix.AF_INET6 && len(b) >= 24:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), port), ""
	case family == unix.AF_UNIX && b[2] != 0:
		name, _, _ := bytes.Cut(b[2:], []byte{0})
		return to, string(name)
	}
	return to, ""
}

// question returns the name that a DNS query asks for (RFC 1035), if it is a host name of at least two labels.
func question(b []byte) string {
	if len(b) < 17 || b[2]&0xf8 != 0 || binary.BigEndian.Uint16(b[4:]) != 1 {
		return ""
	}
	var labels []string
	for at := 12; at < len(b) && len(labels) < 128; {
		n := int(b[at])
		if n == 0 {
			name := strings.ToLower(strings.Join(labels, "."))
			if len(labels) < 2 || len(name) > 253 || len(b) < at+5 || strings.HasSuffix(name, ".arpa") {
				return ""
			}
			return name
		}
		if n > 63 || at+1+n > len(b) {
			return ""
		}
		label := b[at+1 : at+1+n]
		if bytes.ContainsFunc(label, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
		}) {
			return ""
		}
		labels = append(labels, string(label))
		at += 1 + n
	}
	return ""
}
