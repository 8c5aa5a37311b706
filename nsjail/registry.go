package nsjail

import (
	"context"
	"os"
	"sync"
	"sync/atomic"

	"brig/cgroup"

	"golang.org/x/sys/unix"
)

// registry knows the running jails of a Runner, and how many may run.
type registry struct {
	room  chan struct{} // one entry for each jail that may run; nil means no bound
	early bool          // a jail's Wait need not wait for the end of its namespaces: see running.passes

	mu     sync.Mutex
	jails  map[*running]bool
	closed bool

	starts sync.WaitGroup // starts in progress
	ending sync.WaitGroup // jails whose namespaces are being dismantled
	swept  atomic.Bool    // the groups of killed keepers have been looked for
}

// enter waits until another jail may run.
func (r *registry) enter(ctx context.Context) error {
	if r.room == nil {
		return nil
	}
	select {
	case r.room <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *registry) leave() {
	if r.room != nil {
		<-r.room
	}
}

// run waits until another jail may run, and calls a start. The jail that it has started leaves room when it ends.
func (r *registry) run(ctx context.Context, begin func() error) (err error) {
	if err := r.enter(ctx); err != nil {
		return err
	}
	if err = r.start(); err == nil {
		err = begin()
		r.starts.Done()
	}
	if err != nil {
		r.leave()
	}
	return err
}

// start registers a start. Close waits for it before it closes what the start uses.
func (r *registry) start() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return os.ErrClosed
	}
	r.starts.Add(1)
	return nil
}

func (r *registry) add(j *running) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return os.ErrClosed
	}
	r.jails[j] = true
	return nil
}

func (r *registry) forget(j *running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.jails, j)
}

// collect waits in the background for the first process of a jail whose namespaces the kernel takes apart.
func (r *registry) collect(j *jail) {
	r.ending.Go(func() { _ = j.collect() }) // no caller waits for the error
}

// cancel records that what runs ends because its caller no longer wants it.
func (r *registry) cancel() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for j := range r.jails {
		j.ender.cause.CompareAndSwap(int32(notEnded), int32(endedCancel))
	}
}

// close kills all running jails, and waits for the starts. It reports whether the registry was open.
func (r *registry) close() bool {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return false
	}
	r.closed = true
	for j := range r.jails {
		_ = j.ender.signal(unix.SIGKILL) // an error means that the jail has ended
	}
	r.mu.Unlock()
	r.starts.Wait()
	return true
}

// sweepMost is the number of other jails' groups that a start examines; `brig gc` examines all.
const sweepMost = 64

// sweepGroups removes the groups left by killed keepers of this user, once for each Runner. It ignores errors.
func (r *registry) sweepGroups(l *cgroup.Layout, parent string) {
	if r.swept.CompareAndSwap(false, true) && l.NeedsSweep(sweepMost) {
		if all, err := cgroup.Detect(parent); err == nil { // l has only the hierarchies that this jail needs
			_, _, _ = all.Sweep(sweepMost)
		}
	}
}
