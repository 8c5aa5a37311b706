package cgroup

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Into gives a descriptor of the version 2 directory for clone3(2) CLONE_INTO_CGROUP (Linux 5.7), or -1. It stays the
// group's. A write to cgroup.procs would wait for a grace period of the kernel instead.
func (g *Group) Into() int {
	for _, d := range g.dirs {
		if d != nil && d.version == 2 {
			return d.fd
		}
	}
	return -1
}

// Tasks opens the files that a process writes "0" to in order to join the version 1 directories, one for each of
// Plan.V1Joins: the caller closes them. For a directory that could not be made it is /dev/null.
func (g *Group) Tasks() (fds []int, err error) {
	for i, d := range g.dirs {
		if g.plan.Branches[i].Version != 1 {
			continue
		}
		at, name := unix.AT_FDCWD, os.DevNull
		if d != nil {
			at, name = d.fd, "tasks"
		}
		fd, err := unix.Openat(at, name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			for _, fd := range fds {
				unix.Close(fd)
			}
			return nil, fmt.Errorf("%s of %s: %w", name, quote(g.name), err)
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

// Dirs are the group's directories: the version 2 one ("" without), and the version 1 ones by controller.
func (g *Group) Dirs() (v2 string, v1 map[string]string) {
	v1 = map[string]string{}
	for i, d := range g.dirs {
		switch {
		case d == nil:
		case d.version == 2:
			v2 = d.path
		default:
			for _, c := range g.plan.Branches[i].Controllers {
				v1[c] = d.path
			}
		}
	}
	return v2, v1
}

// V2 is 1 if the plan has a version 2 directory, else 0.
func (p *Plan) V2() int { return len(p.Branches) - len(p.V1Joins()) }

// V1Joins are the version 1 hierarchies that a process has to join by itself.
func (p *Plan) V1Joins() (bases []string) {
	for _, b := range p.Branches {
		if b.Version == 1 {
			bases = append(bases, b.Base)
		}
	}
	return bases
}

// removeTries bounds the wait for processes that are on their way out.
const removeTries = 200

// Remove removes the group, which must have no process any more but such as are about to end. Its descriptors are
// closed in any case.
func (g *Group) Remove() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for i, d := range g.dirs {
		if d == nil {
			continue
		}
		err := d.remove()
		if err != nil {
			err = fmt.Errorf("rmdir %s: %w; remove it with brig gc", quote(d.path), err)
		}
		errs = append(errs, err, unix.Close(d.fd), d.base.Close())
		g.dirs[i] = nil
	}
	return errors.Join(errs...)
}

func (d *directory) remove() (err error) {
	name := d.path[strings.LastIndexByte(d.path, '/')+1:]
	for range removeTries {
		err = unix.Unlinkat(int(d.base.Fd()), name, unix.AT_REMOVEDIR)
		if err == unix.ENOENT {
			return nil
		}
		if err != unix.EBUSY {
			return err
		}
		d.awaitChange("cgroup.events", time.Millisecond)
	}
	return err
}

// awaitChange waits for the kernel to say that a control file has changed (poll(2) POLLPRI), or for a time: version 1
// says nothing.
func (d *directory) awaitChange(name string, most time.Duration) {
	fd, err := unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		time.Sleep(most)
		return
	}
	defer unix.Close(fd)
	if _, err := readAll(fd); err != nil { // a change is one since the last reading
		time.Sleep(most)
		return
	}
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLPRI}}
	_, _ = unix.Poll(p, int(most.Milliseconds())) // the caller looks again, whatever happened
}

// Kill ends all processes of the group: cgroup.kill (Linux 5.14), or a sweep over them while they are frozen.
func (g *Group) Kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, d := range g.dirs {
		if d != nil && d.version == 2 && d.put("cgroup.kill", "1") == nil {
			return nil
		}
	}
	var errs []error
	frozen := g.freeze(true) == nil
	for _, d := range g.dirs {
		if d != nil {
			errs = append(errs, d.killEach())
		}
	}
	if frozen {
		errs = append(errs, g.freeze(false)) // a frozen process of version 1 takes its signal when it is thawed
	}
	return errors.Join(errs...)
}

// killEach signals each process until none is left or, frozen, all have been told once.
func (d *directory) killEach() error {
	told := map[string]bool{}
	for range removeTries {
		text, err := d.read("cgroup.procs")
		if err != nil {
			return err
		}
		more := false
		for _, pid := range strings.Fields(text) {
			if told[pid] || pid == "0" { // 0: not visible from this pid namespace
				continue
			}
			told[pid], more = true, true
			var n int
			if _, err := fmt.Sscan(pid, &n); err != nil {
				return err
			}
			if err := unix.Kill(n, unix.SIGKILL); err != nil && err != unix.ESRCH {
				return fmt.Errorf("kill %d: %w", n, err)
			}
		}
		if !more {
			return nil
		}
	}
	return errors.New("processes are made faster than they can be killed")
}

// ErrNoFreezer says that the group is in no hierarchy that can stop it.
var ErrNoFreezer = errors.New("the group can not be frozen: there is neither a version 2 tree nor a freezer controller")

// Freeze stops all processes of the group, or lets them go on, and waits until they have stopped: cgroup.freeze
// (Linux 5.2), or version 1's freezer.state.
func (g *Group) Freeze(on bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.freeze(on)
}

func (g *Group) freeze(on bool) error {
	for i, d := range g.dirs {
		if d == nil {
			continue
		}
		if d.version == 2 {
			if err := d.put("cgroup.freeze", map[bool]string{true: "1", false: "0"}[on]); err != nil {
				return err
			}
			return d.await("cgroup.events", map[bool]string{true: "frozen 1", false: "frozen 0"}[on])
		}
		for _, c := range g.plan.Branches[i].Controllers {
			if c == "freezer" {
				word := map[bool]string{true: "FROZEN", false: "THAWED"}[on]
				if err := d.put("freezer.state", word); err != nil {
					return err
				}
				return d.await("freezer.state", word)
			}
		}
	}
	return ErrNoFreezer
}

// await waits until a file has a line.
func (d *directory) await(name, line string) error {
	const most = 5 * time.Second // an uninterruptible process cannot be stopped before its system call ends
	for end := time.Now().Add(most); ; {
		text, err := d.read(name)
		if err != nil {
			return err
		}
		for _, l := range strings.Split(text, "\n") {
			if l == line {
				return nil
			}
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s does not say %q after %s", quote(d.path+"/"+name), line, most)
		}
		d.awaitChange(name, 10*time.Millisecond)
	}
}

// Populated says whether a process is in the group.
func (g *Group) Populated() (bool, error) {
	for _, d := range g.dirs {
		if d == nil {
			continue
		}
		text, err := d.read("cgroup.procs")
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return false, err
		}
		if strings.TrimSpace(text) != "" {
			return true, nil
		}
	}
	return false, nil
}
