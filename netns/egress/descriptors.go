package egress

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"

	"brig/netns/egress/policy"
)

// perConnection is the maximum number of descriptors for a connection: its two ends, and for each direction the two
// ends of a pipe for splice(2).
const perConnection = 6

// share is how many connections one Server of this process may have open; 0 means as many as its policy allows.
var share atomic.Int64

// ShareDescriptors divides the descriptors that this process may open (RLIMIT_NOFILE, getrlimit(2)) among its Servers.
// It reserves keep descriptors for the process itself. Each Server made later has an equal part of the rest, for at
// most the given number of Servers at once. A connection beyond that part fails with ReasonResources, even if the
// policy allows it. If ShareDescriptors is not called, only the policy bounds connections.
func ShareDescriptors(keep, servers int) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("getrlimit(2): %w", err)
	}
	n := (int64(min(l.Cur, 1<<40)) - int64(keep)) / int64(perConnection*servers)
	if n < 1 {
		return fmt.Errorf("a process may have %d files open, and %d jails at once need %d; raise the hard limit "+
			"(ulimit -n, LimitNOFILE=) or have fewer jails",
			l.Cur, servers, keep+perConnection*servers)
	}
	share.Store(n)
	return nil
}

// exhausted reports whether an error means that this process or the machine has run out of descriptors or socket
// memory. The resolver returns errors as text.
func exhausted(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, e) || err != nil && strings.HasSuffix(err.Error(), e.Error()) {
			return true
		}
	}
	return false
}

// verdictOf returns VerdictDeny for a refusal by the policy, and VerdictError for a failure of what it allows.
func verdictOf(r policy.Reason) Verdict {
	switch r {
	case policy.ReasonResolveFailed, policy.ReasonNoAddress, policy.ReasonConnectFailed, policy.ReasonConnectTimeout,
		policy.ReasonIdleTimeout, policy.ReasonClosed, policy.ReasonResources:
		return VerdictError
	}
	return VerdictDeny
}
