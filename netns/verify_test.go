package netns

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"brig/internal/rig"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// What a jail passes is looked at before it is used: here everything that could be something else.
func TestVerifyRefuses(t *testing.T) {
	listener, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = errors.Join(unix.Bind(listener, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(listener, 1))
	}
	must.Do(t, err)
	defer unix.Close(listener)
	null, err := os.Open("/dev/null")
	must.Do(t, err)
	defer null.Close()
	plain, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must.Do(t, err)
	defer unix.Close(plain)
	tcp := Socket{RoleTCP, 80, unix.IPPROTO_TCP, false}
	for _, c := range []struct {
		name string
		fd   int
		s    Socket
		want string
	}{
		{"a listener of the caller's own namespace", listener, tcp, "another network namespace"},
		{"a listener where a datagram socket is due", listener, Socket{RoleDNS, 53, unix.IPPROTO_UDP, false}, "SO_TYPE"},
		{"IPv4 where IPv6 is due", listener, Socket{RoleTCP, 80, unix.IPPROTO_TCP, true}, "SO_DOMAIN"},
		{"one that listens where it must not", listener, Socket{Role: RoleDial, Protocol: unix.IPPROTO_TCP}, "SO_ACCEPTCONN"},
		{"one that does not listen", plain, tcp, "SO_ACCEPTCONN"},
		{"no socket", int(null.Fd()), tcp, "SO_DOMAIN"},
	} {
		err := Verify([]int{c.fd}, []Socket{c.s})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := Verify(nil, []Socket{tcp}); err == nil {
		t.Error("a missing socket passes")
	}
}

// Sockets of one other namespace pass; one of a third namespace among them does not.
func TestVerifyWantsOneNamespace(t *testing.T) {
	if !rig.Enter(t, rig.AsRoot0) {
		return
	}
	list := []Socket{{RoleTCP, 80, unix.IPPROTO_TCP, false}, {Role: RoleDial, Protocol: unix.IPPROTO_TCP},
		{Role: RoleTap, Protocol: unix.IPPROTO_UDP}}
	jail, other := elsewhere(t), elsewhere(t)
	if err := Verify(jail, list); err != nil {
		t.Error(err)
	}
	if cookie, err := netnsCookie(jail[0]); err == nil && cookie == 0 {
		t.Skip("the kernel has no SO_NETNS_COOKIE")
	}
	if err := Verify([]int{jail[0], other[1], jail[2]}, list); err == nil || !strings.Contains(err.Error(), "another network namespace") {
		t.Errorf("a socket of a third namespace: %v", err)
	}
	if err := Verify(jail[1:], list[1:]); err != nil {
		t.Error(err)
	}
	if err := Verify([]int{jail[1], jail[0], jail[2]}, list); err == nil {
		t.Error("two sockets in the wrong order pass")
	}
}

// elsewhere opens a listener, a TCP socket and a tap in a new network namespace.
func elsewhere(t *testing.T) (fds []int) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		for _, s := range []struct{ kind, protocol int }{{unix.SOCK_STREAM, 0}, {unix.SOCK_STREAM, 0}, {unix.SOCK_RAW, unix.IPPROTO_UDP}} {
			fd, failed := unix.Socket(unix.AF_INET, s.kind|unix.SOCK_CLOEXEC, s.protocol)
			fds, err = append(fds, fd), errors.Join(err, failed)
		}
		done <- errors.Join(err, unix.Bind(fds[0], &unix.SockaddrInet4{Port: 80}), unix.Listen(fds[0], 1))
	}()
	must.Do(t, <-done)
	t.Cleanup(func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	})
	return fds
}
