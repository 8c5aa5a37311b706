package monitor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Trigger is a threshold of waiting: an alarm goes off when tasks of the group waited for Stall within any Window.
type Trigger struct {
	Resource string // cpu, memory or io
	Full     bool   // all tasks at once waited, not just some
	// Stall is up to Window; Window is from 500 ms to 10 s, and without CAP_SYS_RESOURCE a multiple of 2 s.
	Stall, Window time.Duration
}

// text is what the kernel wants to be written: microseconds, and a NUL that it cuts off.
func (t Trigger) text() (string, error) {
	kind := "some"
	if t.Full {
		kind = "full"
	}
	switch {
	case !slices.Contains([]string{"cpu", "memory", "io"}, t.Resource):
		return "", fmt.Errorf("monitor: Trigger.Resource: %s has no pressure: give cpu, memory or io", strconv.Quote(t.Resource))
	case t.Window < 500*time.Millisecond || t.Window > 10*time.Second:
		return "", fmt.Errorf("monitor: Trigger.Window: %v: the kernel takes from 500ms to 10s", t.Window)
	case t.Stall < time.Microsecond || t.Stall > t.Window:
		return "", fmt.Errorf("monitor: Trigger.Stall: %v: give from 1µs up to the window of %v", t.Stall, t.Window)
	}
	return fmt.Sprintf("%s %d %d\x00", kind, t.Stall.Microseconds(), t.Window.Microseconds()), nil
}

// Pressure gives an alarm each time the trigger goes off, at most once a window, until ctx ends or the group is removed.
// An alarm that nobody has taken stands for all that follow. It needs a version 2 directory, with controllers or without,
// and a kernel with PSI.
func (m *Monitor) Pressure(ctx context.Context, t Trigger) (*Stream[struct{}], error) {
	text, err := t.text()
	if err != nil {
		return nil, err
	}
	if m.v2 == nil {
		return nil, errors.New("monitor: Group.V2: none is given, and only version 2 has pressure files: mount cgroup2 and give the group's directory there")
	}
	a := &alarm{}
	if err := a.start(m.v2, t, text); err != nil {
		return nil, errors.Join(err, a.close())
	}
	s, c := newStream[struct{}](1)
	go func() {
		stop := context.AfterFunc(ctx, a.cancel)
		err := a.run(ctx, c)
		stop()
		s.end(c, errors.Join(err, a.close()))
	}()
	return s, nil
}

// alarm is what stands behind one call of Pressure. Poll holds a thread: the runtime's poller does not wait for the
// exceptional condition that the kernel announces here.
type alarm struct {
	dir  *dir
	file *os.File // the trigger lives as long as this description
	stop *os.File // an eventfd(2) that wakes poll(2)
}

func (a *alarm) start(d *dir, t Trigger, text string) (err error) {
	if a.dir, err = d.clone(); err != nil {
		return err
	}
	name := t.Resource + ".pressure"
	fd, err := unix.Open(d.path(name), unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("monitor: %s: %w: the kernel does not measure pressure: boot it with psi=1", name, err)
	} else if err != nil {
		return fmt.Errorf("monitor: %s: %w: a trigger needs the right to write this file", name, err)
	}
	a.file = os.NewFile(uintptr(fd), name)
	if _, err := unix.Write(fd, []byte(text)); errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("monitor: %s: %w: the kernel refuses the trigger: without CAP_SYS_RESOURCE the window must be a multiple of 2s", name, err)
	} else if err != nil {
		return fmt.Errorf("monitor: %s: %w: setting the trigger", name, err)
	}
	if fd, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("monitor: eventfd: %w", err)
	}
	a.stop = os.NewFile(uintptr(fd), "eventfd")
	return nil
}

func (a *alarm) close() error {
	var errs []error
	for _, f := range []*os.File{a.file, a.stop} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	if a.dir != nil {
		errs = append(errs, a.dir.file.Close())
	}
	return errors.Join(errs...)
}

// cancel wakes run. After close it fails, and nobody is left to be woken.
func (a *alarm) cancel() { _, _ = a.stop.Write([]byte{7: 1}) }

func (a *alarm) run(ctx context.Context, out chan<- struct{}) error {
	fds := []unix.PollFd{{Fd: int32(a.file.Fd()), Events: unix.POLLPRI}, {Fd: int32(a.stop.Fd()), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("monitor: poll: %w", err)
		case fds[1].Revents != 0:
			return context.Cause(ctx)
		case !a.dir.alive():
			return ErrRemoved
		case fds[0].Revents&unix.POLLERR != 0:
			return errors.New("monitor: the kernel gave the trigger up")
		}
		select {
		case out <- struct{}{}:
		default:
		}
	}
}
