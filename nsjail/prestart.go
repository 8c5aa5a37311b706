package nsjail

import (
	"errors"

	"brig/nsjail/internal/run"
	"brig/nsjail/spec"
)

// Prestart keeps n fresh jails parked for Specs like s. Each is used once and is replaced in the background. If none is
// ready, Start creates one. A jail is parked before its streams, working directory, filter and command are known, and
// before its mounts are, unless the Spec has a Rootfs. A Spec is like s if it differs only in Args, Env, PassEnv,
// Workdir, the Limits that the keeper holds (Limit.Keeper) and, without a Rootfs, in Mounts.
//
// Prestart creates the first jail before it returns, and returns an error of its namespaces or its control group. Start
// returns a later error of its set-up. A second call for such a Spec changes n; 0 ends the pool. A parked jail holds
// two descriptors, two processes and, if its limits need one, a control group.
func (r *Runner) Prestart(s Spec, n int) error {
	if err := r.mayPrestart(&s, n); err != nil {
		return err
	}
	if err := r.jails.start(); err != nil {
		return err
	}
	defer r.jails.starts.Done()
	y := r.tree.pool(&s)
	if n > 0 {
		if err := y.Prime(n); err != nil {
			return err
		}
	}
	return y.DropAll(y.Resize(n, true))
}

// mayPrestart returns an error if jails of a Spec cannot be made in advance.
func (r *Runner) mayPrestart(s *spec.Spec, n int) error {
	if problems := s.Check(); len(problems) > 0 {
		return problems[0].AsError()
	}
	if n < 0 {
		return spec.CallerError("prestart", "a negative number of jails", "give how many to keep ready")
	}
	if r.tree != nil && preparable(s) {
		return nil
	}
	why := "the host's network is not in a prepared tree"
	if s.Net != spec.NetHost {
		why = "each jail has its own /etc, or its own directory on disk for changes"
	}
	if r.tree == nil {
		why = r.roots.why
	}
	return spec.HostError("prestart", why, "run without Prestart, which takes longer for each jail")
}

// PayloadReady is the byte that a payload of PrestartRunning writes to its standard output when it is ready.
const PayloadReady = run.Ready

// PrestartRunning keeps n payloads of a Spec parked: each was started in a jail of its own, has written PayloadReady as
// its only output, and waits for what it reads from its standard input. Each serves one run, see Cmd.Handover, and is
// replaced in the background. Until then its only limit on time is RLIMIT_CPU, which is not reset for the run: it is
// cpu_time without a control group, and at least a second more with one. The caller's secrets must not be in the Spec,
// since the payload runs before its user is known.
//
// The Spec may have mounts of the types tmpfs, dir, symlink and data, and read-only binds of what the caller holds open
// (Mount.Held). It must have an init and no terminal, and its network must be loopback or none. PrestartRunning parks
// the first payload before it returns, and returns its error, with the last line of its stderr if it does not get
// ready. A second call for the same Spec changes n, but not if it fails; 0 ends the pool. A parked payload holds the
// memory of its processes, five descriptors, one for a network namespace of RunnerOptions.Pool, plus a control group
// and up to six descriptors per hierarchy, if its limits need one.
func (r *Runner) PrestartRunning(s Spec, n int) error {
	if err := r.mayPrestart(&s, n); err != nil {
		return err
	}
	if why := cannotRunAhead(&s); why != "" {
		return spec.CallerError("prestart", why+" belongs to one run, and the payload is to start before it",
			"leave it out, or run without PrestartRunning")
	}
	if err := r.jails.start(); err != nil {
		return err
	}
	defer r.jails.starts.Done()
	y := r.payloads.pool(&s)
	if n == 0 {
		return r.payloads.end(y)
	}
	if err := y.Prime(n); err != nil && y.wanted() > 0 {
		return err // the pool goes on as before
	} else if err != nil {
		return errors.Join(err, r.payloads.end(y))
	}
	return y.DropAll(y.Resize(n, true))
}

// Parked describes the parked payloads of a Spec.
type Parked struct {
	Ready  int   // how many wait for a run
	Memory int64 // bytes that only their processes hold, without what they share with other programs; 0 if unknown
	Failed int64 // how many could not be started
}

// Parked returns the state of the payloads that PrestartRunning parks for a Spec.
func (r *Runner) Parked(s Spec) (p Parked) {
	key := payloadKey(&s)
	y := r.payloads.find(&key)
	if y == nil {
		return p
	}
	p.Failed = y.failed.Load()
	var pids []int
	y.Mu.Lock()
	for _, c := range y.Ready {
		if c.waits() {
			pids = append(pids, c.Pid)
		}
	}
	y.Mu.Unlock()
	for _, pid := range pids {
		p.Memory += run.PrivateMemory(pid)
	}
	p.Ready = len(pids)
	return p
}
