package monitor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Events tells what happens in the group and below it from now on, until ctx ends or the group is removed. A group that
// has processes already gives Populated first.
//
// The kernel tells of changes, and what changed is read then. Two things it does not tell, on version 1 only: for kills it
// is asked again for two seconds after an OOM, and for PidsMax once a second. Events of one kind that the reader has
// not taken are joined, so a slow reader costs no memory. A process that comes and goes between two looks may leave no
// Populated; then Empty still comes, and Empty may come twice. What happens just before the group is removed can be
// lost, for its files go first.
func (m *Monitor) Events(ctx context.Context) (*Stream[Event], error) {
	w := &watch{wake: make(chan struct{}, 1), failed: make(chan error, 2), stateWatch: -1}
	if err := w.start(m); err != nil {
		return nil, errors.Join(err, w.close())
	}
	s, c := newStream[Event](0)
	go func() {
		err := w.run(ctx, c)
		s.end(c, errors.Join(err, w.close()))
	}()
	return s, nil
}

// watch is what stands behind one call of Events.
type watch struct {
	dirs    []*dir // own descriptors: the Monitor may be closed first
	files   []*watched
	inotify *os.File
	eventfd *os.File // nil without version 1's memory controller
	pumps   sync.WaitGroup

	wake       chan struct{}
	failed     chan error
	stateWatch int32         // cgroup.events's watch descriptor
	stateTold  atomic.Bool   // the kernel said that cgroup.events changed
	noticed    atomic.Uint64 // version 1's notices of OOM that are not reported yet

	queue     queue
	populated bool
	again     time.Duration // until the next look for the kill that follows a notice; 0: none is awaited
	untold    bool          // a file changes without notice
}

// watched is a source that is held open, with what it said last.
type watched struct {
	source
	file *os.File
	last map[string]uint64
}

// start subscribes first and reads second, so that nothing falls between.
func (w *watch) start(m *Monitor) error {
	for _, d := range m.dirs() {
		own, err := d.clone()
		if err != nil {
			return err
		}
		w.dirs = append(w.dirs, own)
	}
	for _, s := range m.sources() {
		fd, err := unix.Open(s.dir.path(s.name), unix.O_RDONLY|unix.O_CLOEXEC, 0) // os.Open would have the poller wait for it
		if err != nil {
			return bad(s.name, err)
		}
		w.files = append(w.files, &watched{s, os.NewFile(uintptr(fd), s.name), nil})
		w.untold = w.untold || s.untold
	}
	if err := w.subscribe(); err != nil {
		return err
	}
	notices := slices.ContainsFunc(w.files, func(f *watched) bool { return f.name == noticeFile })
	if notices {
		if err := w.notices(m); err != nil {
			return err
		}
	}
	if err := w.look(); err != nil {
		return err
	}
	w.pumps.Add(1)
	go w.pump(w.inotify, w.takeInotify)
	if notices {
		w.pumps.Add(1)
		go w.pump(w.eventfd, w.takeEventfd)
	}
	return nil
}

// close ends the pumps and gives everything back.
func (w *watch) close() error {
	var errs []error
	for _, f := range []*os.File{w.inotify, w.eventfd} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	w.pumps.Wait()
	for _, f := range w.files {
		errs = append(errs, f.file.Close())
	}
	for _, d := range w.dirs {
		errs = append(errs, d.file.Close())
	}
	return errors.Join(errs...)
}

// run looks when it is woken and hands out what it finds. It gives the reason for the end.
func (w *watch) run(ctx context.Context, out chan<- Event) error {
	timer := time.NewTimer(untoldTick)
	defer timer.Stop()
	if !w.untold {
		timer.Stop()
	}
	var over error
	for {
		var to chan<- Event
		var next Event
		if len(w.queue) > 0 {
			to, next = out, w.queue[0]
		} else if over != nil {
			return over
		}
		if ctx.Err() != nil { // select would choose freely between this and a reader
			return context.Cause(ctx)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case to <- next:
			w.queue = slices.Delete(w.queue, 0, 1)
			continue
		case err := <-w.failed:
			over = err
		case <-w.wake:
		case <-timer.C:
		}
		if over == nil {
			over = w.look()
		}
		if next := w.pause(); next > 0 && over == nil {
			timer.Reset(next)
		}
	}
}

// look reads the files and queues what is new. The first time it only learns what is there.
func (w *watch) look() error {
	told, notices := w.stateTold.Swap(false), w.noticed.Swap(0)
	// Removal sets off version 1's notices too: they count only while the group is there.
	if slices.ContainsFunc(w.dirs, func(d *dir) bool { return !d.alive() }) {
		return ErrRemoved
	}
	if notices > 0 {
		w.queue.add(OOM, notices)
		w.again = firstAgain
	}
	for _, f := range w.files {
		values, err := f.read()
		if err != nil {
			return err
		}
		for _, c := range f.counters {
			if n := values[c.key]; f.last != nil && n > f.last[c.key] {
				w.queue.add(c.kind, n-f.last[c.key])
			}
		}
		if f.name == stateFile {
			w.state(values["populated"] != 0, told)
		}
		f.last = values
	}
	return nil
}

// state reports a change. Told of a change that cannot be seen, it says Empty if that is how things are: processes may
// have come and gone, and somebody may wait for the end of the last.
func (w *watch) state(populated, told bool) {
	switch {
	case populated && !w.populated:
		w.queue.add(Populated, 1)
	case !populated && (w.populated || told):
		w.queue.add(Empty, 1)
	}
	w.populated = populated
}

// Version 1 gives notice of an OOM before it kills, and none of the kill. Looking again a few times, ever later, is all
// there is: ten times in two seconds, after a notice only. Of its pids.events newer kernels give no notice at all.
const (
	firstAgain = time.Millisecond
	lastAgain  = time.Second
	untoldTick = time.Second
)

// pause is how long to wait for a notice before looking without one; 0 is for ever.
func (w *watch) pause() time.Duration {
	if w.again > lastAgain {
		w.again = 0
	}
	w.again *= 2
	switch {
	case w.again > 0:
		return w.again
	case w.untold:
		return untoldTick
	}
	return 0
}

// read reads the whole file.
func (f *watched) read() (map[string]uint64, error) {
	var buf [4096]byte
	n, err := unix.Pread(int(f.file.Fd()), buf[:], 0)
	if errors.Is(err, unix.ENODEV) || errors.Is(err, fs.ErrNotExist) { // removed, though the descriptor is open
		return nil, ErrRemoved
	}
	if err != nil {
		return nil, bad(f.name, err)
	}
	values, err := parseValues(string(buf[:n]))
	if err != nil {
		return nil, bad(f.name, err)
	}
	return values, nil
}
