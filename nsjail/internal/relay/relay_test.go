package relay

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/netns"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// TestWithoutANetwork: a jail of another network has no relay, and none needs to be looked at before it is closed.
func TestWithoutANetwork(t *testing.T) {
	for _, n := range []spec.Net{"", spec.NetLoopback, spec.NetNone, spec.NetHost} {
		r, err := Open(&spec.Spec{Net: n}, nil)
		if r != nil || err != nil || r.Waits() || r.Close() != nil {
			t.Errorf("%q: %v, %v", n, r, err)
		}
	}
}

// TestPublishedPortsAreTakenAtOnce: another jail cannot have the port, an error names which one it is, and the ports
// are free again after Close.
func TestPublishedPortsAreTakenAtOnce(t *testing.T) {
	free := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	at := free.Addr().String()
	_, port, _ := net.SplitHostPort(at)
	must.Do(t, free.Close())
	s := &spec.Spec{Publish: []string{port + ":80"}}
	r := must.Get(Open(s, nil))(t)
	if !r.Waits() {
		t.Error("the jail has opened its sockets before it exists")
	}
	var e *spec.Error
	if other, err := Open(s, nil); !errors.As(err, &e) || e.Op != "publish[0]" || e.Fault != spec.FaultCaller || other.Close() != nil {
		t.Errorf("a second one: %v", err)
	}
	r.Close()
	r.Close()
	again := must.Get(net.Listen("tcp", at))(t)
	must.Do(t, again.Close())
}

// TestOtherSocketsAreRefused: what a jail sends must be the sockets that its plan has opened. They are closed.
func TestOtherSocketsAreRefused(t *testing.T) {
	r := must.Get(Open(&spec.Spec{Net: spec.NetEgress}, nil))(t)
	defer r.Close()
	f, w, err := os.Pipe()
	must.Do(t, err)
	defer f.Close()
	defer w.Close()
	var e *spec.Error
	fd := must.Get(unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0))(t)
	if err := r.Serve([]int{fd}, []netns.Socket{{Role: netns.RoleDNS}}); !errors.As(err, &e) || e.Op != "net" || e.Fault != spec.FaultBrig {
		t.Errorf("a pipe: %v", err)
	}
	if _, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err == nil || !r.Waits() {
		t.Error("the pipe is open, or served")
	}
	if err := r.Serve(nil, []netns.Socket{{Role: netns.RoleDNS}}); err == nil || !strings.Contains(err.Error(), "net") {
		t.Errorf("none: %v", err)
	}
}
