package engine

import (
	"cmp"
	"fmt"
	"time"

	"brig/brigd/job"
	"brig/nsjail"
)

// Defaults of Options.
const (
	DefaultTimeout     = nsjail.Duration(time.Minute)
	DefaultMaxTimeout  = nsjail.Duration(time.Hour)
	DefaultMaxOutput   = nsjail.Bytes(1 << 20)   // of each stream, in a Response
	DefaultOutputLimit = nsjail.Bytes(256 << 20) // both streams together; more ends the run
)

// defaults are what a request is completed with, and the ceilings of every run.
type defaults struct {
	spec       nsjail.Spec
	timeout    nsjail.Duration
	maxTimeout nsjail.Duration
	memory     nsjail.Bytes
	maxOutput  nsjail.Bytes
}

// base returns a copy of Options.Base without Args and Mounts.
func (d *defaults) base() nsjail.Spec {
	s := d.spec.Clone()
	s.Args, s.Mounts = nil, nil
	return *s
}

// fill sets limits that neither the request nor a policy has set. It is called after the policies, which check the
// values of the request.
func (d *defaults) fill(j *job.Job, r *Request) {
	l, base := &j.Spec.Limits, &d.spec.Limits
	if r.endless {
		l.Wall = cmp.Or(l.Wall, -1)
		return
	}
	if r.Timeout == 0 && base.Wall == 0 && (l.Wall == 0 || l.Wall > d.timeout) {
		l.Wall = d.timeout
	}
	lowerWall(j, d.maxTimeout)
	if r.Memory == 0 && base.Memory == 0 && d.memory > 0 && (l.Memory == 0 || l.Memory > d.memory) {
		l.Memory = d.memory
	}
	l.OutputLimit = cmp.Or(l.OutputLimit, DefaultOutputLimit)
}

// least returns the smaller of two bounds, where 0 means no bound.
func least[T ~int64 | ~float64](a, b T) T {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// lowerWall bounds the time of a Job; 0 is no bound.
func lowerWall(j *job.Job, most nsjail.Duration) {
	l := &j.Spec.Limits
	if most == 0 || l.Wall >= 0 && l.Wall <= most {
		return
	}
	from := "none"
	if l.Wall > 0 {
		from = l.Wall.String()
	}
	j.Verdict.Narrowed = append(j.Verdict.Narrowed,
		fmt.Sprintf("limits.wall lowered from %s to %s, the most that a run may take here.", from, most))
	l.Wall = most
}

// limit returns how much of each stream is kept; 0 means all. It clears the jail's own output limit: if the jail
// truncated the output, the filter could not recognise part of a secret.
func (d *defaults) limit(j *job.Job, r *Request, stream bool) nsjail.Bytes {
	kept := d.maxOutput
	if stream {
		kept = 0 // the caller gets it in pieces
	}
	l := &j.Spec.Limits.Output
	for _, n := range []nsjail.Bytes{r.MaxOutput, *l} {
		if n > 0 && (kept == 0 || n < kept) {
			kept = n
		}
	}
	*l = 0
	return kept
}
