package nsjail

import "time"

// moment is a moment of a run. Phases has the times between them.
type moment int

const (
	momentStarted moment = iota
	momentLooked
	momentPlanned
	momentPrepared
	momentSpawned
	momentExecuted
	momentEnded
)

// times are when the moments of a run were.
type times [momentEnded + 1]time.Time

func (t *times) mark(m moment) { t[m] = time.Now() }

func (t *times) phases() Phases {
	from := func(m moment) int64 { return t[m+1].Sub(t[m]).Microseconds() }
	return Phases{Look: from(momentStarted), Resolve: from(momentLooked), Prepare: from(momentPlanned),
		Spawn: from(momentPrepared), Exec: from(momentSpawned), Run: from(momentExecuted),
		End: time.Since(t[momentEnded]).Microseconds()}
}

// wall returns how long the jail has worked. The reported processor time includes the payload process's set-up, which
// begins at once if a prefix was sent first.
func (t *times) wall(prefix bool) time.Duration {
	if prefix {
		return t[momentEnded].Sub(t[momentStarted])
	}
	return t[momentEnded].Sub(t[momentPrepared])
}
