package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"brig/brigd/audit"
	"brig/brigd/job"
	"brig/brigd/token"
	"brig/brigd/workspace"
	"brig/nsjail"
)

// lookEvery is the interval at which the engine checks whether the tokens of runs and sandboxes are revoked.
const lookEvery = time.Second

// lease is a run or a sandbox that was started with a token, and that ends with the token.
type lease struct {
	chain   []string  // ids of the token's blocks
	until   time.Time // latest end; the zero time means none
	sandbox bool
	end     func(why *job.Refusal)
}

// leases are the runs and sandboxes of tokens. Another process can revoke a token at any time by creating a file
// (token.Revoke), so they are checked every lookEvery.
type leases struct {
	ledger *token.Ledger
	live   sync.Map // of lease, by the id of the run or sandbox
	done   chan struct{}
	watch  sync.WaitGroup
}

func newLeases(l *token.Ledger) *leases {
	s := &leases{ledger: l, done: make(chan struct{})}
	if l != nil {
		s.watch.Go(s.lookOften)
	}
	return s
}

func (s *leases) close() {
	close(s.done)
	s.watch.Wait()
}

func (s *leases) lookOften() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.done:
			return
		case now := <-tick.C:
			s.look(now)
		}
	}
}

// look ends all leases whose token is no longer valid. It ends runs first, since a sandbox waits for its runs.
func (s *leases) look(now time.Time) {
	over := map[bool][]func(){}
	for _, value := range s.live.Range {
		l := value.(lease)
		if why := s.over(l, now); why != nil {
			over[l.sandbox] = append(over[l.sandbox], func() { l.end(why) })
		}
	}
	for _, end := range append(over[false], over[true]...) {
		end()
	}
}

// over returns why a lease must end, or nil. If the ledger cannot be read, runs end but sandboxes stay. No token can
// use them meanwhile, since each request is checked against the ledger too.
func (s *leases) over(l lease, now time.Time) *job.Refusal {
	if !l.until.IsZero() && !now.Before(l.until) {
		return refuse("token", token.CodeExpired, "expires", "the token has expired")
	}
	no := asRefusal(s.ledger.Revoked(l.chain...), "token", token.CodeLedger)
	if no != nil && l.sandbox && no.Code != token.CodeRevoked {
		return nil
	}
	return no
}

// overrun is the time after a token's expiry at which a run is ended, if its time limit, which is set to the expiry,
// has not ended it.
const overrun = 2 * time.Second

// lend makes a run end with the caller's token: by its time limit when the token expires, and by its context when the
// token is revoked.
func (e *Engine) lend(ctx *context.Context, c Caller, j *job.Job, now time.Time) (release func()) {
	if c.Grant == nil {
		return func() {}
	}
	run, cancel := context.WithCancelCause(*ctx)
	l := lease{chain: c.Grant.IDs(), until: c.Grant.token.Expires(), end: func(why *job.Refusal) { cancel(why) }}
	if !l.until.IsZero() {
		left := max(nsjail.Duration(l.until.Sub(now)), nsjail.Duration(time.Millisecond))
		if wall := &j.Spec.Limits.Wall; *wall <= 0 || *wall > left {
			*wall = left
			j.Verdict.Narrowed = append(j.Verdict.Narrowed,
				fmt.Sprintf("token: wall is %s, since the token expires then.", left))
		}
		l.until = l.until.Add(overrun)
	}
	*ctx = run
	e.leases.live.Store(j.ID, l)
	return func() { e.leases.live.Delete(j.ID); cancel(nil) }
}

// holds checks a caller's token again. A caller over stdio authenticates only once, but the token may be revoked later.
func (e *Engine) holds(c Caller) *job.Refusal {
	if c.Grant == nil {
		return nil
	}
	valid := token.Verify(c.Grant.token, e.opts.TokenKeys, time.Now())
	return asRefusal(errors.Join(valid, e.opts.Ledger.Revoked(c.Grant.IDs()...)), "token", "token_refused")
}

// removed is called by the Store for each sandbox that has ended.
func (e *Engine) removed(box *workspace.Sandbox, by string, err error) {
	e.leases.live.Delete(box.ID)
	if e.shelf != nil && by != workspace.Closed {
		e.shelf.remove(box)
	}
	if by == workspace.Expired {
		v := about(audit.SandboxDelete, Caller{}, box)
		v.Note = "expired: nothing has used it for " + box.TTL.String()
		_ = e.record(v) // the sandbox is gone; the log counts missed events
	}
	if e.opts.Sandboxes.Removed != nil {
		e.opts.Sandboxes.Removed(box, by, err)
	}
}
