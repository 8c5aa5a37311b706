package nsjail

import (
	"errors"

	"brig/nsjail/internal/spec"
	"brig/nsjail/internal/warm"

	"golang.org/x/sys/unix"
)

// RunnerOptions are what a Runner does ahead of its jails. The zero value is NewRunner's.
type RunnerOptions struct {
	// Pool is how many network namespaces, each with lo up, are kept ready, and how many jails of the kinds of Spec that
	// start again and again: fresh ones, each used once (see Prestart, which does so before the first start). They
	// refill in the background.
	Pool int
	// Reuse gives the network namespace of a jail that has ended to another one, if every counter, socket, address and
	// route in it is as it was when it was new: if the payload has not touched the network at all. One thing is known that
	// does not show: that somebody has asked for an exclusive IPv6 flow label.
	Reuse bool
	// Jails is how many jails may run at once; Start waits for one to end, or for its context. 0 is as many as the limit
	// on open files has room for.
	Jails int
	// Cold makes each jail from the host's tree, as `brig run` does: for a program that makes one or two.
	Cold bool
}

// NewRunner starts a launcher: this program's binary again, which needs no other file. Where the machine does not allow
// a prepared tree, jails take longer and are the same; their Plan has a note that says why.
func NewRunner() (*Runner, error) { return NewRunnerWith(RunnerOptions{}) }

// NewRunnerWith is NewRunner with options.
func NewRunnerWith(o RunnerOptions) (*Runner, error) {
	if o.Pool < 0 || o.Jails < 0 {
		return nil, &spec.Error{Fault: spec.FaultCaller, Op: "runner", Detail: "a negative Pool or Jails",
			Remedy: "give how many, or 0"}
	}
	r, err := newBareRunner()
	if err != nil {
		return nil, err
	}
	r.room = make(chan struct{}, roomFor(o.Jails))
	if o.Cold {
		return r, nil
	}
	if r.tree, err = r.prepareLauncher(o.Pool > 0); err != nil {
		fresh, ferr := newBareRunner()
		if ferr = errors.Join(ferr, r.launcher.Close()); ferr != nil {
			return nil, ferr
		}
		r.why, r.launcher, r.dropped, r.tree = err.Error(), fresh.launcher, nil, nil
		return r, nil
	}
	r.helper = &warm.MountHelper{Host: r.tree.modes[0].Root.Host, First: r.launcher}
	if o.Pool > 0 {
		r.pool = o.Pool
		r.nets = &warm.NetPool{Helper: r.helper, Want: o.Pool, Reuse: o.Reuse}
		e, err := r.nets.Make() // the first tells whether it can be done
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.nets.Ready = append(r.nets.Ready, e)
	}
	return r, nil
}

// filesPerJail is how many descriptors a jail takes in the keeper while it starts: report, pidfd, streams, sources.
const filesPerJail = 12

// roomFor is how many jails may run at once.
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
