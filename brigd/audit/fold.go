package audit

import (
	"sync"
	"time"

	"brig/brigd/job"
)

// foldTime is how long refusals are counted before they are written. maxFolds is how many kinds are counted separately.
const (
	foldTime = time.Minute
	maxFolds = 64
)

// Refusals writes refused callers to the log. The first refusal of a kind is written at once. Further ones within a
// minute become one event with their number, so that a flood of wrong keys does not fill the disk.
type Refusals struct {
	log   *Log
	mu    sync.Mutex
	kinds map[fold]int64 // number since the first one
}

// fold is a kind of refusal: refusals with equal fields are counted together.
type fold struct{ layer, code, rule, source string }

// NewRefusals returns Refusals that write to a log. Close it before the log.
func NewRefusals(l *Log) *Refusals {
	return &Refusals{log: l, kinds: map[fold]int64{}}
}

// Add logs one refusal. source is the caller's origin, such as an address without the port. Write errors are reported
// to Options.Broken only, since the caller is refused anyway.
func (r *Refusals) Add(no *job.Refusal, source string) {
	k := fold{no.Layer, no.Code, no.Rule, source}
	r.mu.Lock()
	if len(r.kinds) == 0 {
		time.AfterFunc(foldTime, r.Close)
	}
	_, known := r.kinds[k]
	if !known && len(r.kinds) >= maxFolds {
		k.source = "elsewhere"
		_, known = r.kinds[k]
	}
	if known {
		r.kinds[k]++
	} else {
		r.kinds[k] = 0
	}
	r.mu.Unlock()
	if !known {
		r.write(k, 1)
	}
}

func (r *Refusals) write(k fold, n int64) {
	e := Event{Kind: AuthRefused, Source: k.source, Verdict: &Verdict{Layer: k.layer, Code: k.code, Rule: k.rule}}
	if n > 1 {
		e.Count = n
	}
	_ = r.log.Append(e) // see Add
}

// Close writes the counts and clears them, as does the timer.
func (r *Refusals) Close() {
	r.mu.Lock()
	kinds := r.kinds
	r.kinds = map[fold]int64{}
	r.mu.Unlock()
	for k, n := range kinds {
		if n > 0 {
			r.write(k, n)
		}
	}
}
