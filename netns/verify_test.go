package netns

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What a jail passes is looked at before it is used: here everything that could be something else.
func TestVerifyRefuses(t *testing.T) {
	listener, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = errors.Join(unix.Bind(listener, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(listener, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(listener)
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	plain, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
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
