package monitor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// subscribe asks the kernel to tell of changes in the files, and of the end of a directory. That one is seen in its
// parent: a control group's directory gives no IN_DELETE_SELF, since the kernel, not the caller of rmdir(2), takes its
// files away.
func (w *watch) subscribe() error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if errors.Is(err, unix.EMFILE) {
		return fmt.Errorf("monitor: inotify_init1: %w: too many streams of this user: raise the sysctl fs.inotify.max_user_instances", err)
	} else if err != nil {
		return fmt.Errorf("monitor: inotify_init1: %w", err)
	}
	w.inotify = os.NewFile(uintptr(fd), "inotify")
	for _, s := range w.files {
		if !s.notifies {
			continue
		}
		wd, err := unix.InotifyAddWatch(fd, s.dir.path(s.name), unix.IN_MODIFY)
		if err != nil {
			return fmt.Errorf("monitor: inotify_add_watch %s: %w: raise the sysctl fs.inotify.max_user_watches if it is the limit", s.name, err)
		}
		if s.name == stateFile {
			w.stateWatch = int32(wd)
		}
	}
	for _, d := range w.dirs { // path("..") would be cleaned away: /proc/self/fd is no parent of the group
		if _, err := unix.InotifyAddWatch(fd, d.path("")+"/..", unix.IN_DELETE|unix.IN_ONLYDIR); err != nil {
			return fmt.Errorf("monitor: inotify_add_watch on the parent of the group: %w", err)
		}
	}
	return nil
}

// notices has version 1 tell of OOM through an eventfd(2).
func (w *watch) notices(m *Monitor) error {
	fd, err := m.lib1.OOMEventFD()
	if err != nil {
		return bad(noticeFile, err)
	}
	if err := unix.SetNonblock(int(fd), true); err != nil { // so that reading it needs no thread and ends with Close
		return errors.Join(err, unix.Close(int(fd)))
	}
	w.eventfd = os.NewFile(fd, "eventfd")
	return nil
}

// pump reads notifications until the file is closed. What they say goes through take; that there are some, to wake.
func (w *watch) pump(f *os.File, take func([]byte)) {
	defer w.pumps.Done()
	buf := make([]byte, 4096)
	for {
		n, err := f.Read(buf)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		if err != nil {
			w.failed <- fmt.Errorf("monitor: reading notifications: %w", err)
			return
		}
		take(buf[:n])
		select {
		case w.wake <- struct{}{}:
		default: // one is waiting already
		}
	}
}

// takeInotify looks for changes of cgroup.events. When the queue has overflowed, it may have changed as well.
func (w *watch) takeInotify(b []byte) {
	for len(b) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(b))
		if wd == w.stateWatch || binary.NativeEndian.Uint32(b[4:])&unix.IN_Q_OVERFLOW != 0 {
			w.stateTold.Store(true)
		}
		b = b[min(unix.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(b[12:])), len(b)):]
	}
}

// takeEventfd counts the notices.
func (w *watch) takeEventfd(b []byte) {
	if len(b) == 8 {
		w.noticed.Add(binary.NativeEndian.Uint64(b))
	}
}
