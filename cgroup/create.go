package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// StepError is a step of a plan that failed; nothing is left of the group.
type StepError struct {
	Step, Of  int
	Mechanism string // the first that was to be had of it
	Op        string // what was done, with its operands
	Err       error
	Remedy    string
}

// Error is one line.
func (e *StepError) Error() string {
	return fmt.Sprintf("step %d of %d: %s: %v; %s", e.Step, e.Of, e.Op, e.Err, e.Remedy)
}

// Unwrap gives the cause.
func (e *StepError) Unwrap() error { return e.Err }

// Group is a control group of ours, in one or more hierarchies. Its methods may be called from several goroutines.
type Group struct {
	// Lost says which optional mechanisms the kernel would not give, and why.
	Lost map[string]string

	plan *Plan
	name string
	mu   sync.Mutex
	dirs []*directory // by branch; nil if it could not be made
}

// directory is a group's directory in one hierarchy. It is held open and locked, which says that it is in use.
type directory struct {
	base    *os.File
	fd      int
	version int
	path    string
}

// created counts the groups of this process, for their names.
var created atomic.Int64

// Create makes the group. Whatever step fails, a group is made whole, or made without what is Optional, or not at all.
func (p *Plan) Create() (*Group, error) {
	g := &Group{plan: p, Lost: map[string]string{}, dirs: make([]*directory, len(p.Branches))}
	g.name = "brig-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(created.Add(1), 10)
	for i := range p.steps {
		s := &p.steps[i]
		if g.skip(s) {
			continue
		}
		err := g.do(s)
		if err == nil {
			continue
		}
		if !p.mayLose(s) {
			e := &StepError{Step: i + 1, Of: len(p.steps), Op: p.text(s, g.name), Err: err, Remedy: remedy(s, err)}
			if len(s.mechanism) > 0 {
				e.Mechanism = s.mechanism[0]
			}
			if err := g.Remove(); err != nil {
				e.Err = errors.Join(e.Err, err)
			}
			return nil, e
		}
		for _, m := range s.mechanism {
			g.Lost[m] = p.text(s, g.name) + ": " + err.Error()
		}
	}
	return g, nil
}

// skip says whether a step is for nothing: its directory is missing, or all that it serves is lost.
func (g *Group) skip(s *step) bool {
	if (s.verb == write || s.verb == inherit) && g.dirs[s.branch] == nil {
		return true
	}
	return len(s.mechanism) > 0 && !slices.ContainsFunc(s.mechanism, func(m string) bool { return g.Lost[m] == "" })
}

// mayLose says whether everything that a step serves is optional. A version 2 directory beside version 1's serves
// nothing that was asked for.
func (p *Plan) mayLose(s *step) bool {
	return !slices.ContainsFunc(s.mechanism, func(m string) bool { return !p.Optional[m] }) &&
		(len(s.mechanism) > 0 || p.Enforced["cpu_time"] == "" || p.Optional["cpu_time"])
}

func (g *Group) do(s *step) error {
	b := &g.plan.Branches[s.branch]
	switch s.verb {
	case enable:
		return enableController(b.Base, s.setting.value)
	case makeDir:
		d, err := g.makeDir(b)
		g.dirs[s.branch] = d
		return err
	case inherit:
		return g.dirs[s.branch].inheritCPUs()
	}
	return g.dirs[s.branch].write(&s.setting)
}

// makeDir makes the directory and locks it (flock(2)): the lock ends with this process, however that ends, and says to
// Sweep that the group is in use. A sweep that has come between the two is seen, and the next name taken.
func (g *Group) makeDir(b *Branch) (*directory, error) {
	base, err := os.OpenFile(b.Base, os.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, bare(err)
	}
	at := int(base.Fd())
	for tries := 0; tries < 100; tries++ {
		err = unix.Mkdirat(at, g.name, 0o700)
		if err == nil {
			var d *directory
			if d, err = lock(base, g.name, b); err == nil {
				return d, nil
			}
		}
		if err != unix.EEXIST && err != unix.EWOULDBLOCK && err != unix.ENOENT || tries == 0 && err == unix.ENOENT {
			break
		}
		g.name = "brig-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(created.Add(1), 10)
	}
	return nil, errors.Join(err, base.Close())
}

func lock(base *os.File, name string, b *Branch) (*directory, error) {
	fd, err := unix.Openat(int(base.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, unix.EWOULDBLOCK // swept already
	}
	var st, now unix.Stat_t
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err == nil && (unix.Fstatat(int(base.Fd()), name, &now, unix.AT_SYMLINK_NOFOLLOW) != nil || now.Ino != st.Ino) {
		err = unix.EWOULDBLOCK
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &directory{base: base, fd: fd, version: b.Version, path: b.Base + "/" + name}, nil
}

// bare takes the path off an error whose text will name it anyway.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// remedy is what a person can do about a failed step.
func remedy(s *step, err error) string {
	switch {
	case errors.Is(err, unix.EROFS):
		return "remount it writable, or run brig where it is (docker: a private cgroup namespace and a writable /sys/fs/cgroup)"
	case errors.Is(err, unix.EAGAIN) && s.verb == makeDir:
		return "raise cgroup.max.descendants or cgroup.max.depth of a group above, or remove groups below it (brig gc)"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return "start brig in a group that is delegated to you: systemd-run --user --scope -p Delegate=yes brig run ..."
	case errors.Is(err, unix.ENOENT) && s.verb == write:
		return "the kernel has no such limit here; leave it out"
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ERANGE), errors.Is(err, unix.ENODEV):
		return "the kernel takes no such value for " + strings.Join(s.setting.names, " or ")
	case len(s.mechanism) > 0:
		return "mend that, or accept a jail without it: --optional " + strings.Join(s.mechanism, ",")
	}
	return "mend that"
}
