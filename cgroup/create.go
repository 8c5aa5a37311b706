package cgroup

import (
	"errors"
	"slices"
	"strings"

	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// StepError is the error for a failed step of a plan. The group has been removed.
type StepError struct {
	Step, Of  int
	Mechanism string // the first mechanism that the step serves
	Op        string // the operation, with its operands
	Err       error
	Remedy    words.Text
}

// Error returns one line.
func (e *StepError) Error() string { return e.Text().String() }

// Text returns the line of Error with its references to fields.
func (e *StepError) Text() words.Text {
	return words.Textf("%s: %v; %s (step %d of %d)", e.Op, e.Err, e.Remedy, e.Step, e.Of)
}

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }

// Create makes the group. If a step fails, its mechanisms are given up if all are Optional; otherwise everything is
// removed again.
func (p *Plan) Create() (*Group, error) {
	g := &Group{plan: p, Lost: map[string]string{}}
	name := newName()
	for i := range p.Branches {
		g.dirs = append(g.dirs, &directory{Branch: &p.Branches[i], base: -1, name: name, fd: -1})
	}
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
			e := &StepError{Step: i + 1, Of: len(p.steps), Op: g.text(s), Err: err, Remedy: remedy(s, err)}
			if len(s.mechanism) > 0 {
				e.Mechanism = s.mechanism[0]
			}
			if err := g.Remove(); err != nil {
				e.Err = errors.Join(e.Err, err)
			}
			return nil, e
		}
		for _, m := range s.mechanism {
			g.Lost[m] = g.text(s) + ": " + err.Error()
		}
	}
	return g, nil
}

// Try makes an empty group in every hierarchy that limits would use, and removes it: only mkdir(2) proves that it can
// be made. It enables no controller and moves no process.
func (l *Layout) Try() error {
	p := Resolve(All(), l)
	p.steps = slices.DeleteFunc(p.steps, func(s step) bool { return s.verb != makeDir })
	g, err := p.Create()
	if err != nil {
		return err
	}
	return g.Remove()
}

// text returns a step as text, with the name of its directory.
func (g *Group) text(s *step) string { return g.plan.text(s, g.dirs[s.branch].name) }

// skip reports whether a step is moot: its directory was not created, or every mechanism it serves was given up.
func (g *Group) skip(s *step) bool {
	if (s.verb == write || s.verb == inherit) && g.dirs[s.branch].fd < 0 {
		return true
	}
	return len(s.mechanism) > 0 && !slices.ContainsFunc(s.mechanism, func(m string) bool { return g.Lost[m] == "" })
}

func (g *Group) do(s *step) error {
	d := g.dirs[s.branch]
	if err := d.openBase(); err != nil {
		return err
	}
	switch s.verb {
	case enable:
		return enableController(d.base, s.setting.value)
	case makeDir:
		return d.make()
	case inherit:
		return d.inheritCPUs()
	}
	return d.write(&s.setting)
}

// remedy returns what a person can do about a failed step.
func remedy(s *step, err error) words.Text {
	without := words.Text("")
	if len(s.mechanism) > 0 {
		without = words.Clause(", or accept a jail without it: " + words.Add("optional", s.mechanism...))
	}
	switch {
	case errors.Is(err, unix.EROFS):
		return "remount it writable, or run brig where it is " +
			"(docker: a private cgroup namespace and a writable /sys/fs/cgroup)" + without
	case errors.Is(err, unix.EAGAIN) && (s.verb == makeDir || s.verb == enable):
		return "raise cgroup.max.descendants or cgroup.max.depth of a group above, " +
			"or remove groups below it (brig gc)" + without
	case errors.Is(err, unix.EBUSY) && s.verb == enable:
		return "move them to a group below it, or name another group with " + words.Field("cgroup_parent")
	case s.verb == write && (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)):
		return "the file is not to be written, or not by you; leave it out"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return "start brig in a group that is delegated to you " +
			"(systemd-run --scope -p Delegate=yes brig run ..., with --user for an ordinary user's manager)" + without
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return "raise the limit of open files (ulimit -n), or run fewer jails at a time"
	case errors.Is(err, unix.ENOENT) && s.verb == write:
		return "the kernel has no such limit here; leave it out"
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ERANGE), errors.Is(err, unix.ENODEV):
		return "the kernel takes no such value for " + words.Plain(strings.Join(s.setting.names, " or "))
	}
	return "mend that" + without
}
