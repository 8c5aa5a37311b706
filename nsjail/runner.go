package nsjail

import (
	"context"
	"errors"

	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"
	"brig/nsjail/steps"
)

// Runner makes jails through one long-lived launcher process. Its methods may be called from several goroutines.
//
// The launcher is in a prepared root, and each jail starts with a copy of its few mounts. The Runner also caches the
// plans of the Specs that it has met. Both make a start faster and change nothing in the jail. A jail shows the host's
// current /usr, without anything mounted below it later. Its copies of a few files of /etc (certificates, ld.so.cache)
// date from the creation of the Runner.
type Runner struct {
	own      *spawner
	tree     *warmRoot // nil: jails start from the host's root
	roots    *hostRoots
	payloads *payloadPools
	volumes  *volumeHelper
	jails    registry
}

// newBareRunner returns a Runner whose jails start from the host's root.
func newBareRunner() (*Runner, error) {
	l, err := startLauncher()
	if err != nil {
		return nil, err
	}
	return newRunner(l), nil
}

// ForkedRunner returns a Runner with the launcher that a constructor of the binary forked before the Go runtime
// started. A binary requests that launcher by defining the C function brig_launcher_wanted, as cmd/brig does. Without
// one, ForkedRunner starts a launcher.
func ForkedRunner() (*Runner, error) {
	if l := launcher.Forked(); l != nil {
		return newRunner(l), nil
	}
	return newBareRunner()
}

func newRunner(l *launcher.Launcher) *Runner {
	v := &volumeHelper{}
	own := newSpawner(l, v)
	r := &Runner{own: own, volumes: v, roots: &hostRoots{bare: own, volumes: v}}
	r.jails.jails = map[*running]bool{}
	r.payloads = &payloadPools{jails: &r.jails}
	return r
}

// sources returns the Runner's ways to start a jail, in the order in which they are asked. The last one always has one.
func (r *Runner) sources() []source {
	return []source{parkedPayload{r.payloads}, parkedJail{r.tree}, preparedRoot{r.tree}, hostRoot{r.roots, nil}}
}

// Close kills all running and parked jails, ends the launcher, and removes everything that the Runner has created.
func (r *Runner) Close() error {
	if !r.jails.close() {
		return nil
	}
	errs := []error{r.roots.close(), r.payloads.close(), r.tree.close()} // the payloads before the jails they are made of
	r.jails.ending.Wait()
	return errors.Join(append(errs, r.volumes.close(), r.own.close())...)
}

// Retire ends the launcher now instead of at Close. The running jails go on, but no other jail can be started. Retire
// does nothing while a jail without init (Spec.NoInit) runs, since the launcher guards it.
func (r *Runner) Retire() error {
	r.jails.mu.Lock()
	defer r.jails.mu.Unlock()
	for j := range r.jails.jails {
		if j.Alone && !j.plan.Stays {
			return nil
		}
	}
	return r.own.launcher.Retire()
}

// Command returns a Cmd that runs a command in a jail of this Runner.
func (r *Runner) Command(name string, args ...string) *Cmd {
	return r.CommandContext(context.Background(), name, args...)
}

// CommandContext is like Command; the jail is killed when the context ends.
func (r *Runner) CommandContext(ctx context.Context, name string, args ...string) *Cmd {
	return &Cmd{Spec: spec.Spec{Args: append([]string{name}, args...)}, runner: r, ctx: ctx}
}

// CommandSpec is like CommandContext, with a complete Spec.
func (r *Runner) CommandSpec(ctx context.Context, s Spec) *Cmd {
	return &Cmd{Spec: s, runner: r, ctx: ctx}
}

// CommandOrdered returns a Cmd for a jail that is described in steps, as bubblewrap's are. Its payload has what the
// caller has: the streams, the descriptors, the environment, the session. spawned, if not nil, is called with the pid
// of the jail's first process, which then waits for its return (steps.Jail.Waits).
//
// The Runner must be a ForkedRunner with a launcher that stays what its caller is: brig_launcher_wanted returns 2, or
// 3 for one that can also wait for the payload (Leave). It makes one jail.
func (r *Runner) CommandOrdered(j *steps.Jail, spawned func(pid int) error) *Cmd {
	s := spec.Spec{Args: j.Args, Limits: j.Limits, Net: j.Net.Net, Egress: j.Net.Egress, Seccomp: j.Net.Seccomp}
	if j.Waits = spawned != nil; s.Seccomp == "" {
		s.Seccomp = "unconfined"
	}
	return &Cmd{Spec: s, runner: r, ctx: context.Background(),
		way: func(r *Runner) source { return orderedSteps{r.own, j, spawned} }}
}

// NewVolume creates a Volume, for root and for an ordinary user. It fails if the Runner has no prepared root.
func (r *Runner) NewVolume(o VolumeOptions) (*Volume, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := r.jails.start(); err != nil {
		return nil, err
	}
	defer r.jails.starts.Done()
	if r.tree == nil {
		why := r.roots.why
		if why == "" {
			why = "it is a cold Runner"
		}
		return nil, spec.HostError("volume", "this Runner has no prepared tree: "+why, "bind a directory instead")
	}
	return r.volumes.make(r.tree.modes[0].Root.Host, r.own.launcher, &o)
}
