package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"

	"brig/internal/test/must"
	"brig/netns/egress/policy"
)

// What this machine has no room for is an error of its own kind, and neither the name nor the address is blamed.
func TestResources(t *testing.T) {
	socket := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}
	for _, c := range []struct {
		err  error
		want policy.Reason
	}{
		{socket, policy.ReasonResources},
		{&net.DNSError{Err: socket.Error(), Name: "example.com"}, policy.ReasonResources}, // as package net writes it
		{fmt.Errorf("x: %w", syscall.ENFILE), policy.ReasonResources},
		{errors.New("refused"), policy.ReasonResolveFailed},
	} {
		d := &dialer{lookup: func(context.Context, string) ([]netip.Addr, error) { return nil, c.err }}
		_, f := d.candidates(t.Context(), "example.com", 443)
		if f.reason != c.want || verdictOf(f.reason) != VerdictError {
			t.Errorf("%v: %+v", c.err, f)
		}
	}
	if v := verdictOf(policy.ReasonOwnAddress); v != VerdictDeny {
		t.Errorf("%s", v)
	}
}

// A jail has its part of what the process may have open, whatever its policy allows.
func TestShareOfDescriptors(t *testing.T) {
	defer share.Store(share.Load())
	var l syscall.Rlimit
	must.Do(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l))
	if err := ShareDescriptors(int(l.Cur), 4); err == nil {
		t.Error("nothing is left, and no error")
	}
	must.Do(t, ShareDescriptors(int(l.Cur)-2*4*perConnection, 4))
	for most, want := range map[int]policy.Reason{1: policy.ReasonMaxConnections, 0: policy.ReasonResources} {
		lim := newLimits(&policy.Policy{MaxConnections: most})
		var got policy.Reason
		n := 0
		for ; got == policy.ReasonNone; n++ {
			got = lim.enter()
		}
		if got != want || n != 3-most {
			t.Errorf("%d: %s after %d", most, got, n)
		}
	}
}
