package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"brig/agent/audit"
	"brig/agent/token"
	"brig/agent/workspace"
	"brig/nsjail"
)

// lookEvery is how often the engine checks whether the token of a run or sandbox was revoked.
const lookEvery = time.Second

// lease is a run or a sandbox that a token has begun, and that ends with the token.
type lease struct {
	chain   []string  // the ids of the token's blocks
	until   time.Time // it ends then at the latest; the zero time is never
	sandbox bool
	end     func(why *nsjail.Refusal)
}

// leases are the runs and sandboxes of tokens, by their ids. Another process can revoke a token at any time
// (token.Revoke makes a file), so watch checks them every lookEvery.
type leases struct {
	ledger *token.Ledger
	mu     sync.Mutex
	live   map[string]lease
	done   chan struct{}
	ended  chan struct{} // closed when watch has returned
}

func newLeases(l *token.Ledger) *leases {
	s := &leases{ledger: l, live: map[string]lease{}, done: make(chan struct{}), ended: make(chan struct{})}
	if l == nil {
		close(s.ended)
		return s
	}
	go s.watch()
	return s
}

func (s *leases) close() {
	close(s.done)
	<-s.ended
}

// add keeps a lease under an id; the function that it returns drops it.
func (s *leases) add(id string, l lease) (drop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[id] = l
	return func() { s.drop(id) }
}

func (s *leases) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, id)
}

// until is when a sandbox ends with its token; the zero time if it does not.
func (s *leases) until(id string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id].until
}

func (s *leases) watch() {
	defer close(s.ended)
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

// look ends the leases that are over. Runs end first, since a sandbox waits for the runs in it.
func (s *leases) look(now time.Time) {
	s.mu.Lock()
	over := map[bool][]func(){}
	for _, l := range s.live {
		if why := s.over(l, now); why != nil {
			over[l.sandbox] = append(over[l.sandbox], func() { l.end(why) })
		}
	}
	s.mu.Unlock()
	for _, end := range append(over[false], over[true]...) {
		end()
	}
}

// over returns why a lease has ended, or nil. If the ledger cannot be read, runs end and sandboxes stay: meanwhile no
// token can use them, since each request is checked against the ledger, too.
func (s *leases) over(l lease, now time.Time) *nsjail.Refusal {
	if !l.until.IsZero() && !now.Before(l.until) {
		return &nsjail.Refusal{Message: "the token has expired", Code: token.CodeExpired, Layer: "token", Rule: "expires"}
	}
	no := asRefusal(s.ledger.Revoked(l.chain...), "token", token.CodeLedger)
	if no != nil && l.sandbox && no.Code != token.CodeRevoked {
		return nil
	}
	return no
}

// overrun is how long after its token's expiry a run is ended if its own time limit, set to that expiry, has not ended
// it.
const overrun = 2 * time.Second

// lend makes a run end with the caller's token: by its time limit when that expires, by its context when it is revoked.
func (e *Engine) lend(ctx *context.Context, c Caller, j *nsjail.Job, now time.Time) (release func()) {
	if c.Grant == nil {
		return func() {}
	}
	run, cancel := context.WithCancelCause(*ctx)
	l := lease{chain: c.Grant.IDs(), until: c.Grant.token.Expires(), end: func(why *nsjail.Refusal) { cancel(why) }}
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
	drop := e.leases.add(j.ID, l)
	return func() { drop(); cancel(nil) }
}

// holds checks a caller's token again: over stdio it is shown once, and may be revoked later.
func (e *Engine) holds(c Caller) *nsjail.Refusal {
	if c.Grant == nil {
		return nil
	}
	valid := token.Verify(c.Grant.token, e.opts.TokenKeys, time.Now())
	return asRefusal(errors.Join(valid, e.opts.Ledger.Revoked(c.Grant.IDs()...)), "token", "token_refused")
}

// lendSandbox makes a sandbox end with the token that has made it.
func (e *Engine) lendSandbox(c Caller, box *workspace.Sandbox) {
	if c.Grant == nil {
		return
	}
	var once sync.Once
	end := func(why *nsjail.Refusal) {
		v := about(audit.SandboxDelete, c, box)
		v.Note = why.Code
		_ = e.record(v)                       // it ends in any case: the log knows what it has missed
		_ = e.boxes.Delete(box.Agent, box.ID) // it may have ended meanwhile, and StoreOptions.Removed hears the rest
	}
	e.leases.add(box.ID, lease{chain: box.Chain, until: c.Grant.token.Expires(), sandbox: true,
		end: func(why *nsjail.Refusal) { once.Do(func() { end(why) }) }})
}

// removed is told by the store of each sandbox that has ended.
func (e *Engine) removed(box *workspace.Sandbox, by string, err error) {
	e.leases.drop(box.ID)
	if by == workspace.Expired {
		v := about(audit.SandboxDelete, Caller{}, box)
		v.Note = "expired: nothing has used it for " + box.TTL.String()
		_ = e.record(v) // it is gone already: the log knows what it has missed
	}
	if e.opts.Sandboxes.Removed != nil {
		e.opts.Sandboxes.Removed(box, by, err)
	}
}
