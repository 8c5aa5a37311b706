package nsjail

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"brig/nsjail/internal/warm"
	"brig/nsjail/spec"
)

// payloadPools are a Runner's pools of parked payloads.
type payloadPools struct {
	root  *warmRoot
	jails *registry

	mu   sync.Mutex
	list []*payloadPool
}

// payloadPool holds parked payloads of one Spec: each was started, and no run has taken it.
type payloadPool struct {
	warm.Pool[*running]
	key    spec.Spec
	failed atomic.Int64
}

// readyTime is how long a payload may take until it is ready.
const readyTime = 30 * time.Second

// payloadPause is how long the next payload's start waits, so that it does not compete with a short run.
const payloadPause = 20 * time.Millisecond

// end ends a pool. A concurrent PrestartRunning or take that still has it finds it closed and empty.
func (p *payloadPools) end(y *payloadPool) error {
	p.mu.Lock()
	p.list = slices.DeleteFunc(p.list, func(o *payloadPool) bool { return o == y })
	p.mu.Unlock()
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

// pool returns the pool for a Spec, and creates it if necessary.
func (p *payloadPools) pool(s *spec.Spec) *payloadPool {
	key := payloadKey(s.Clone())
	p.mu.Lock()
	defer p.mu.Unlock()
	if y := p.at(&key); y != nil {
		return y
	}
	y := &payloadPool{key: key}
	y.Pause = payloadPause
	y.Make = func() (*running, error) {
		r, err := p.park(&y.key)
		if err != nil {
			y.failed.Add(1)
		}
		return r, err
	}
	y.Drop = (*running).discard
	p.list = append(p.list, y)
	return y
}

// find returns the pool with a key, or nil.
func (p *payloadPools) find(key *spec.Spec) *payloadPool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at(key)
}

// at returns the pool with a key, or nil. The caller holds the lock.
func (p *payloadPools) at(key *spec.Spec) *payloadPool {
	i := slices.IndexFunc(p.list, func(y *payloadPool) bool { return sameSpec(&y.key, key) })
	if i < 0 {
		return nil
	}
	return p.list[i]
}

// park starts a payload and waits until it is ready. Close kills it meanwhile.
func (p *payloadPools) park(s *spec.Spec) (*running, error) {
	a := newAttempt(s.Clone())
	a.jails, a.parked, a.wantDigest = p.jails, true, true
	a.wire(strings.NewReader(""), nil, nil)
	r, err := begin(context.Background(), a, nil, parkedJail{p.root}, preparedRoot{p.root})
	if err != nil {
		return nil, err
	}
	err = r.held.streams.AwaitReady(readyTime)
	p.jails.forget(r)
	if err == nil {
		return r, nil
	}
	return nil, errors.Join(spec.CallerError("prestart", "the payload does not get ready: "+err.Error(),
		"see that it runs in a jail of this Spec, and writes one byte when it waits for its input"), r.discard())
}

// close ends all pools.
func (p *payloadPools) close() error {
	p.mu.Lock()
	list := p.list
	p.list = nil
	p.mu.Unlock()
	var errs []error
	for _, y := range list {
		errs = append(errs, y.Close())
	}
	return errors.Join(errs...)
}
