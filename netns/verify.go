package netns

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Verify returns an error unless the descriptors from a jail match List and are in one network namespace that is not
// the caller's: SO_DOMAIN, SO_TYPE, SO_PROTOCOL, SO_ACCEPTCONN (socket(7)), SO_NETNS_COOKIE (Linux 5.14; older kernels
// skip this check).
func Verify(fds []int, list []Socket) error {
	if len(fds) != len(list) {
		return fmt.Errorf("%d sockets instead of %d", len(fds), len(list))
	}
	own, err := ownCookie()
	if err != nil {
		return err
	}
	jail := own
	for i, s := range list {
		cookie, err := s.verify(fds[i])
		if err != nil {
			return fmt.Errorf("the %s socket, %d of %d: %w", s.Role, i+1, len(list), err)
		}
		if i == 0 {
			jail = cookie
		}
		if cookie != jail || cookie != 0 && cookie == own {
			return fmt.Errorf("the %s socket, %d of %d: it belongs to another network namespace",
				s.Role, i+1, len(list))
		}
	}
	return nil
}

func (s Socket) verify(fd int) (cookie uint64, err error) {
	h, accepts := s.shape(), 0
	if h.listens {
		accepts = 1
	}
	for _, o := range []struct {
		name      string
		opt, want int
	}{{"SO_DOMAIN", unix.SO_DOMAIN, h.domain}, {"SO_TYPE", unix.SO_TYPE, h.kind},
		{"SO_PROTOCOL", unix.SO_PROTOCOL, s.Protocol},
		{"SO_ACCEPTCONN", unix.SO_ACCEPTCONN, accepts}} {
		got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, o.opt)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", o.name, err)
		}
		if got != o.want {
			return 0, fmt.Errorf("%s is %d, not %d", o.name, got, o.want)
		}
	}
	return netnsCookie(fd)
}

// netnsCookie returns SO_NETNS_COOKIE, or 0 if the kernel lacks it.
func netnsCookie(fd int) (uint64, error) {
	c, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	if errors.Is(err, unix.ENOPROTOOPT) {
		return 0, nil
	}
	return c, err
}

func ownCookie() (uint64, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	return netnsCookie(fd)
}
