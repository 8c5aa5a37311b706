package nsjail

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"brig/internal/words"
	"brig/nsjail/spec"
)

// Command returns a Cmd that runs a command in the box. Its Spec is the box's. What belongs to a process may be changed
// before Start: Args, Env, PassEnv, Workdir, TTY, and the limits that the keeper holds for it (Wall, Idle, Grace,
// Output, OutputLimit); a Wall of 0 is none. Start returns an *Error for any other change.
//
// Signal and Stop are for this process. SIGKILL, a limit and the end of the context end it and what it has started in
// its session. What has left the session (setsid(1)), and what it has left behind when it ends by itself, stays until
// the box ends: Result.Stays. Usage is that of the process and of what it has waited for.
func (b *Box) Command(name string, args ...string) *Cmd {
	return b.CommandContext(context.Background(), name, args...)
}

// CommandContext is like Command; the process is killed when the context ends.
func (b *Box) CommandContext(ctx context.Context, name string, args ...string) *Cmd {
	c := &Cmd{Spec: *b.like.Clone(), runner: b.runner, ctx: ctx, within: b.within(),
		way: func(*Runner) source { return boxProcess{b} }}
	c.Spec.Args = append([]string{name}, args...)
	return c
}

// check returns an *Error for a process that asks for something else than the box has.
func (b *Box) check(s *spec.Spec) error {
	like, own := b.like, *s
	own.Args, own.Env, own.PassEnv, own.Workdir, own.TTY = nil, like.Env, like.PassEnv, like.Workdir, like.TTY
	own.Limits.Wall, own.Limits.Idle, own.Limits.Grace = like.Limits.Wall, like.Limits.Idle, like.Limits.Grace
	own.Limits.Output, own.Limits.OutputLimit = like.Limits.Output, like.Limits.OutputLimit
	if reflect.DeepEqual(own, like) {
		return nil
	}
	field := "spec"
	a, is := reflect.ValueOf(own), reflect.ValueOf(like)
	for i := range a.NumField() {
		if !reflect.DeepEqual(a.Field(i).Interface(), is.Field(i).Interface()) {
			field, _, _ = strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
			break
		}
	}
	return spec.CallerError(field, "it is the box's, and a process of a box cannot have another", "set it for the box")
}

// Processes returns the commands that run in the box, in the order of their pids. What they have started is not among
// them.
func (b *Box) Processes() (list []Process) {
	jails := &b.runner.jails
	jails.mu.Lock()
	defer jails.mu.Unlock()
	for r := range jails.jails {
		if r.ender.running.Load() && !r.ender.done.Load() {
			list = append(list, Process{PID: r.Pid, Command: words.Printable(r.spec.Args[0])})
		}
	}
	slices.SortFunc(list, func(a, b Process) int { return a.PID - b.PID })
	return list
}
