package host

import (
	"errors"

	"brig/nsjail/internal/spec"

	"golang.org/x/sys/unix"
)

// lookNetwork asks whether the kernel makes IPv6 sockets (ipv6(7)); a machine may have none.
func (h *Host) lookNetwork(s *spec.Spec) error {
	if s.Net != spec.NetEgress {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if off, ok := readInt("/proc/sys/net/ipv6/conf/default/disable_ipv6"); err == nil && ok && off != 0 {
		err = errors.Join(unix.EAFNOSUPPORT, unix.Close(fd)) // a namespace may begin as this one did
	}
	if err != nil {
		return nil
	}
	h.IPv6 = true
	return unix.Close(fd)
}
