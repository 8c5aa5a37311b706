package nsjail

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"brig/internal/sys"
	"brig/nsjail/internal/run"
	"brig/nsjail/internal/warm"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// payloadPool holds parked payloads of one Spec: each is a Cmd that was started and that no run has taken.
type payloadPool struct {
	warm.Pool[*Cmd]
	key    spec.Spec
	failed atomic.Int64
}

// PayloadReady is the byte that a payload of PrestartRunning writes to its standard output when it is ready.
const PayloadReady = run.Ready

// readyTime is how long a payload may take until it is ready.
const readyTime = 30 * time.Second

// payloadPause is how long the next payload's start waits, so that it does not compete with a short run.
const payloadPause = 20 * time.Millisecond

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
// memory of its processes, five descriptors, one for a network namespace of RunnerOptions.Pool and, if its limits need
// a control group, that and up to six for each hierarchy of it.
func (r *Runner) PrestartRunning(s Spec, n int) error {
	if err := r.mayPrestart(&s, n); err != nil {
		return err
	}
	if why := cannotRunAhead(&s); why != "" {
		return spec.CallerError("prestart", why+" belongs to one run, and the payload is to start before it",
			"leave it out, or run without PrestartRunning")
	}
	if err := r.start(); err != nil {
		return err
	}
	defer r.starts.Done()
	y := r.tree.payloadPool(r, &s)
	if n == 0 {
		return r.tree.endPayloads(y)
	}
	if err := y.Prime(n); err != nil && y.wanted() > 0 {
		return err // the pool goes on as before
	} else if err != nil {
		return errors.Join(err, r.tree.endPayloads(y))
	}
	return y.DropAll(y.Resize(n, true))
}

// endPayloads ends a pool. A concurrent PrestartRunning or take that still has it finds it closed and empty.
func (st *warmRoot) endPayloads(y *payloadPool) error {
	st.mu.Lock()
	st.payloads = slices.DeleteFunc(st.payloads, func(o *payloadPool) bool { return o == y })
	st.mu.Unlock()
	return y.Close()
}

// wanted returns how many payloads the pool keeps ready.
func (y *payloadPool) wanted() int {
	y.Mu.Lock()
	defer y.Mu.Unlock()
	return y.Want
}

// cannotRunAhead returns the part of a Spec that no parked payload can have, or "".
func cannotRunAhead(s *spec.Spec) string {
	switch {
	case s.TTY:
		return "a terminal"
	case s.NoInit:
		return "a payload without init"
	case s.Tier != "":
		return "a jail without namespaces"
	case s.Net == spec.NetEgress, len(s.Publish) > 0:
		return "a network by name"
	}
	for i, m := range s.Mounts {
		switch {
		case m.Type.OwnFiles():
		case m.Type == spec.MountBind && m.Held != nil && !m.Writable: // it is the same file for every run
		default:
			return spec.Index("mounts", i) + ", a file of the host,"
		}
	}
	return ""
}

// payloadKey returns what a Spec must have in common with that of a parked payload: all but the keeper's limits.
func payloadKey(s *spec.Spec) spec.Spec {
	k := *s
	k.Limits = s.Limits.WithoutKeeper()
	return k
}

// payloadPool returns the pool for a Spec, and creates it if necessary.
func (st *warmRoot) payloadPool(r *Runner, s *spec.Spec) *payloadPool {
	key := payloadKey(s.Clone())
	st.mu.Lock()
	defer st.mu.Unlock()
	if y := st.findPayloads(&key); y != nil {
		return y
	}
	y := &payloadPool{key: key}
	y.Pause = payloadPause
	y.Make = func() (*Cmd, error) {
		c, err := r.parkPayload(&y.key)
		if err != nil {
			y.failed.Add(1)
		}
		return c, err
	}
	y.Drop = (*Cmd).discard
	st.payloads = append(st.payloads, y)
	return y
}

// findPayloads returns the pool with a key, or nil. The caller holds the lock.
func (st *warmRoot) findPayloads(key *spec.Spec) *payloadPool {
	i := slices.IndexFunc(st.payloads, func(y *payloadPool) bool { return sameSpec(&y.key, key) })
	if i < 0 {
		return nil
	}
	return st.payloads[i]
}

// parkPayload starts a payload and waits until it is ready. Close kills it meanwhile.
func (r *Runner) parkPayload(s *spec.Spec) (*Cmd, error) {
	c := r.CommandSpec(context.Background(), *s.Clone())
	c.parked, c.WantPlanDigest, c.Stdin = true, true, strings.NewReader("")
	c.mark(momentStarted)
	if err := c.startWarm(); err != nil {
		return nil, err
	}
	err := c.streams.AwaitReady(readyTime)
	r.forget(c)
	if err == nil {
		return c, nil
	}
	return nil, errors.Join(spec.CallerError("prestart", "the payload does not get ready: "+err.Error(),
		"see that it runs in a jail of this Spec, and writes one byte when it waits for its input"), c.discard())
}

// waits reports whether a parked payload still runs and waits for its handover.
func (c *Cmd) waits() bool {
	return !(c.group != nil && c.group.OOMKills() > 0) && sys.Idle(c.report, unix.POLLIN) &&
		sys.Idle(c.pidfd, unix.POLLIN) && c.streams.Silent()
}

// discard ends a parked payload that no run has taken.
func (c *Cmd) discard() error {
	err := c.jail.discard()
	c.streams.End()
	return err
}

// privateMemory returns the bytes in memory that only the processes below a jail's process 1 map: /proc/PID/statm,
// proc(5).
func privateMemory(pid int) (bytes int64) {
	for _, p := range sys.Descendants(pid) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p)) // unreadable once it has ended
		var size, resident, shared int64
		if n, _ := fmt.Sscan(string(text), &size, &resident, &shared); n == 3 {
			bytes += (resident - shared) * int64(os.Getpagesize())
		}
	}
	return bytes
}

// Parked describes the parked payloads of a Spec.
type Parked struct {
	Ready  int   // how many wait for a run
	Memory int64 // bytes that only their processes hold, without what they share with other programs; 0 if unknown
	Failed int64 // how many could not be started
}

// Parked returns the state of the payloads that PrestartRunning parks for a Spec.
func (r *Runner) Parked(s Spec) (p Parked) {
	if r.tree == nil {
		return p
	}
	key := payloadKey(&s)
	r.tree.mu.Lock()
	y := r.tree.findPayloads(&key)
	r.tree.mu.Unlock()
	if y == nil {
		return p
	}
	p.Failed = y.failed.Load()
	var pids []int
	y.Mu.Lock()
	for _, c := range y.Ready {
		if c.waits() {
			pids = append(pids, c.pid)
		}
	}
	y.Mu.Unlock()
	for _, pid := range pids {
		p.Memory += privateMemory(pid)
	}
	p.Ready = len(pids)
	return p
}
