package engine

import (
	"context"
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
func (s *leases) lend(ctx context.Context, c Caller, j *job.Job, now time.Time) (run context.Context, release func()) {
	if c.Grant == nil {
		return ctx, func() {}
	}
	run, cancel := context.WithCancelCause(ctx)
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
	s.live.Store(j.ID, l)
	return run, func() { s.live.Delete(j.ID); cancel(nil) }
}

// keep makes what was made with a token end with the token. Without a token there is no chain, and no end.
func (s *leases) keep(id string, chain []string, until time.Time, end func(*job.Refusal)) {
	if len(chain) == 0 {
		return
	}
	var once sync.Once
	s.live.Store(id, lease{chain: chain, until: until, sandbox: true,
		end: func(why *job.Refusal) { once.Do(func() { end(why) }) }})
}

// drop forgets what has ended.
func (s *leases) drop(id string) { s.live.Delete(id) }

// ended returns why what a token has made must end, or nil. Without a token there is no chain, and no end.
func (s *leases) ended(chain []string, until time.Time) *job.Refusal {
	if len(chain) == 0 {
		return nil
	}
	return s.over(lease{chain: chain, until: until, sandbox: true}, time.Now())
}
