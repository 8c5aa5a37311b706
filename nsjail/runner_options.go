package nsjail

import (
	"errors"

	"brig/nsjail/internal/warm"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// RunnerOptions configure what a Runner prepares in advance. The zero value is that of NewRunner.
type RunnerOptions struct {
	// Pool is the number of network namespaces, each with lo up, and of jails that are kept ready. The jails are parked
	// for Specs that are started repeatedly; each is fresh and used once. Both refill in the background. Prestart parks
	// jails before the first start.
	Pool int
	// Reuse passes the network namespace of an ended jail to another jail if each of its counters, sockets, addresses and
	// routes is as in a new one, that is, if the payload has not used the network. One known use is not detected: a
	// request for an exclusive IPv6 flow label.
	Reuse bool
	// Jails is the number of jails that may run at the same time. Start waits for one to end, or for its context. 0 means
	// as many as the limit on open files allows.
	Jails int
	// Cold makes each jail from the host's root, as `brig run` does. It suits a program that makes one or two jails.
	Cold bool
}

// NewRunner starts a launcher, which is this program's binary again; no other file is needed. If the machine does not
// allow a prepared root, jails are the same but take longer to make, and a note in their Plan has the reason.
func NewRunner() (*Runner, error) { return NewRunnerWith(RunnerOptions{}) }

// NewRunnerWith is like NewRunner, with options.
func NewRunnerWith(o RunnerOptions) (*Runner, error) {
	if o.Pool < 0 || o.Jails < 0 {
		return nil, spec.CallerError("runner", "a negative Pool or Jails", "give how many, or 0")
	}
	r, err := newBareRunner()
	if err != nil {
		return nil, err
	}
	r.jails.room = make(chan struct{}, roomFor(o.Jails))
	if o.Cold {
		return r, nil
	}
	tree, err := r.own.prepare(o.Pool > 0)
	if err != nil {
		r.roots.why = err.Error()
		if err := r.own.replace(); err != nil {
			return nil, errors.Join(err, r.Close())
		}
		return r, nil
	}
	r.tree, r.payloads.root, r.jails.early, r.roots.bare = tree, tree, true, nil
	tree.ending = &r.jails.ending
	r.own.helper = &warm.MountHelper{Host: tree.modes[0].Root.Host, First: r.own.launcher}
	if tree.most = o.Pool; o.Pool > 0 {
		if tree.nets, err = warm.NewNetPool(r.own.helper, o.Pool, o.Reuse); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	return r, nil
}

// filesPerJail is the number of keeper descriptors for a starting jail: report, pidfd, streams, sources.
const filesPerJail = 12

// roomFor returns the number of jails that may run at the same time.
func roomFor(asked int) int {
	if asked > 0 {
		return asked
	}
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 64
	}
	return int(min(max(int64(l.Cur)-64, filesPerJail)/filesPerJail, 1<<20))
}
