// Package lease ends what was made with a capability token when the token ends: runs, sandboxes and snapshots.
package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"brig/brigd/job"
	"brig/brigd/token"
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

// Leases are the runs and sandboxes of tokens. Another process can revoke a token at any time by creating a file
// (token.Revoke), so they are checked every lookEvery.
type Leases struct {
	ledger *token.Ledger
	live   sync.Map // of lease, by the id of the run or sandbox
	done   chan struct{}
	watch  sync.WaitGroup
}

// New returns Leases, and begins to look at the ledger if there is one.
func New(l *token.Ledger) *Leases {
	s := &Leases{ledger: l, done: make(chan struct{})}
	if l != nil {
		s.watch.Go(s.lookOften)
	}
	return s
}

// Close ends the looking.
func (s *Leases) Close() {
	close(s.done)
	s.watch.Wait()
}

func (s *Leases) lookOften() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.done:
			return
		case now := <-tick.C:
			s.Look(now)
		}
	}
}

// Look ends all leases whose token is no longer valid. It ends runs first, since a sandbox waits for its runs.
func (s *Leases) Look(now time.Time) {
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
func (s *Leases) over(l lease, now time.Time) *job.Refusal {
	if !l.until.IsZero() && !now.Before(l.until) {
		return &job.Refusal{Layer: "token", Code: token.CodeExpired, Rule: "expires", Message: "the token has expired"}
	}
	no := revoked(s.ledger.Revoked(l.chain...))
	if no != nil && l.sandbox && no.Code != token.CodeRevoked {
		return nil
	}
	return no
}

// revoked returns the Refusal that an error of the ledger is, or one for it.
func revoked(err error) *job.Refusal {
	var no *job.Refusal
	if err == nil || errors.As(err, &no) {
		return no
	}
	return &job.Refusal{Layer: "token", Code: token.CodeLedger, Message: err.Error()}
}

// overrun is the time after a token's expiry at which a run is ended, if its time limit, which is set to the expiry,
// has not ended it.
const overrun = 2 * time.Second

// Lend makes a run end with the token of its caller, if there is one: by its time limit when the token expires, and by
// its context when the token is revoked.
func (s *Leases) Lend(ctx context.Context, t *token.Token, j *job.Job, now time.Time) (
	run context.Context, release func()) {
	if t == nil {
		return ctx, func() {}
	}
	run, cancel := context.WithCancelCause(ctx)
	l := lease{chain: t.IDs(), until: t.Expires(), end: func(why *job.Refusal) { cancel(why) }}
	if !l.until.IsZero() {
		left := max(nsjail.Duration(l.until.Sub(now)), nsjail.Duration(time.Millisecond))
		if wall := &j.Spec.Limits.Wall; *wall <= 0 || *wall > left {
			*wall = left
			j.Verdict.Narrowed = append(j.Verdict.Narrowed,
				fmt.Sprintf("token: wall is %s, since the token expires then.", left))
		}
		l.until = l.until.Add(overrun)
	}
	s.live.Store(j.ID, l)
	return run, func() { s.live.Delete(j.ID); cancel(nil) }
}

// Keep makes what was made with a token end with the token. Without a token there is no chain, and no end.
func (s *Leases) Keep(id string, chain []string, until time.Time, end func(*job.Refusal)) {
	if len(chain) == 0 {
		return
	}
	var once sync.Once
	s.live.Store(id, lease{chain: chain, until: until, sandbox: true,
		end: func(why *job.Refusal) { once.Do(func() { end(why) }) }})
}

// Drop forgets what has ended.
func (s *Leases) Drop(id string) { s.live.Delete(id) }

// Ended returns why what a token has made must end, or nil. Without a token there is no chain, and no end.
func (s *Leases) Ended(chain []string, until time.Time) *job.Refusal {
	if len(chain) == 0 {
		return nil
	}
	return s.over(lease{chain: chain, until: until, sandbox: true}, time.Now())
}

// Knows reports whether there is a ledger. Without one it is unknown whether a token is revoked.
func (s *Leases) Knows() bool { return s.ledger != nil }
