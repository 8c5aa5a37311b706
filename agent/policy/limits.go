package policy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"brig/nsjail"
)

// DefaultGrace is the ceiling of grace where a policy has one of wall only: what comes after wall is bounded, too.
const DefaultGrace = nsjail.Duration(10 * time.Second)

// ceiling is one bound that a policy puts on a Spec: of reads it from the policy (0: none), get and set the Spec's field.
// A value of the Spec that is unlimited reads as math.MaxInt64. Processors are counted in millionths.
type ceiling struct {
	name string
	of   func(l *Limits) int64
	// get is what the Spec asks for, with nsjail's default for a field that is 0, and whether it asked.
	get  func(s *nsjail.Spec) (v int64, asked bool)
	set  func(s *nsjail.Spec, v int64)
	show func(v int64) string
}

// ceilings are all of them, in the order in which they are applied.
var ceilings = []ceiling{
	durations("wall", func(l *Limits) *nsjail.Duration { return &l.Wall }, getWall, func(s *nsjail.Spec, d nsjail.Duration) { s.Limits.Wall = d }),
	durations("idle", func(l *Limits) *nsjail.Duration { return &l.Idle },
		func(s *nsjail.Spec) (int64, bool) { return zeroIsAll(int64(s.Limits.Idle)) }, func(s *nsjail.Spec, d nsjail.Duration) { s.Limits.Idle = d }),
	grace(),
	durations("cpu_time", func(l *Limits) *nsjail.Duration { return &l.CPUTime }, getCPUTime, setCPUTime),
	cpus(),
	sizes("memory", func(l *Limits) *nsjail.Bytes { return &l.Memory },
		func(s *nsjail.Spec) (int64, bool) { return zeroIsAll(int64(s.Limits.Memory)) }, setMemory),
	swap(),
	processes(),
	sizes("output", func(l *Limits) *nsjail.Bytes { return &l.Output },
		func(s *nsjail.Spec) (int64, bool) { return zeroIsAll(int64(s.Limits.Output)) }, func(s *nsjail.Spec, v nsjail.Bytes) { s.Limits.Output = v }),
	sizes("output_limit", func(l *Limits) *nsjail.Bytes { return &l.OutputLimit },
		func(s *nsjail.Spec) (int64, bool) { return zeroIsAll(int64(s.Limits.OutputLimit)) }, func(s *nsjail.Spec, v nsjail.Bytes) { s.Limits.OutputLimit = v }),
	tmpfs(),
	tmpfsInodes(),
	rootSize(),
	rlimit("file_size", "fsize", func(l *Limits) int64 { return int64(l.FileSize) }, showBytes),
	rlimit("open_files", "nofile", func(l *Limits) int64 { return l.OpenFiles }, showCount),
}

// narrow lowers what is above the ceilings. It gives a sentence for each limit that was asked for, and one for all others.
func (p *Policy) narrow(s *nsjail.Spec) (said []string) {
	var unasked []string
	for _, c := range ceilings {
		most := c.of(&p.Limits)
		v, asked := c.get(s)
		if most == 0 || v <= most {
			continue
		}
		c.set(s, most)
		if asked {
			said = append(said, fmt.Sprintf("%s: %s lowered from %s to %s.", p.label(), c.name, showOr(c, v), c.show(most)))
		} else {
			unasked = append(unasked, c.name+" "+c.show(most))
		}
	}
	if len(unasked) > 0 {
		said = append(said, fmt.Sprintf("%s: limits where none was asked for: %s.", p.label(), strings.Join(unasked, ", ")))
	}
	return said
}

// tooMuch finds what is above a ceiling that refuses.
func (p *Policy) tooMuch(s *nsjail.Spec) *nsjail.Refusal {
	for _, c := range ceilings {
		most := c.of(&p.Limits)
		v, asked := c.get(s)
		if most != 0 && asked && v > most && slices.Contains(p.Limits.Refuse, c.name) {
			return p.refusal("limits."+c.name, "limit_exceeded", fmt.Sprintf("%s of %s is above the ceiling of %s", c.name, showOr(c, v), c.show(most)),
				fmt.Sprintf("Ask for at most %s, or leave %s out.", c.show(most), c.name))
		}
	}
	return nil
}

func showOr(c ceiling, v int64) string {
	if v == math.MaxInt64 {
		return "none"
	}
	return c.show(v)
}

func zeroIsAll(v int64) (int64, bool) {
	if v == 0 {
		return math.MaxInt64, false
	}
	return v, true
}

func showBytes(v int64) string { return nsjail.Bytes(v).String() }
func showCount(v int64) string { return fmt.Sprint(v) }
func showTime(v int64) string  { return nsjail.Duration(v).String() }

func durations(name string, of func(*Limits) *nsjail.Duration, get func(*nsjail.Spec) (int64, bool), set func(*nsjail.Spec, nsjail.Duration)) ceiling {
	return ceiling{name, func(l *Limits) int64 { return int64(*of(l)) }, get, func(s *nsjail.Spec, v int64) { set(s, nsjail.Duration(v)) }, showTime}
}

func sizes(name string, of func(*Limits) *nsjail.Bytes, get func(*nsjail.Spec) (int64, bool), set func(*nsjail.Spec, nsjail.Bytes)) ceiling {
	return ceiling{name, func(l *Limits) int64 { return int64(*of(l)) }, get, func(s *nsjail.Spec, v int64) { set(s, nsjail.Bytes(v)) }, showBytes}
}

// getWall knows that without a terminal there is a limit if nothing is said.
func getWall(s *nsjail.Spec) (int64, bool) {
	switch w := s.Limits.Wall; {
	case w < 0:
		return math.MaxInt64, true
	case w == 0 && s.TTY:
		return math.MaxInt64, false
	case w == 0:
		return int64(nsjail.DefaultWall), false
	default:
		return int64(w), true
	}
}

func getCPUTime(s *nsjail.Spec) (int64, bool) { return zeroIsAll(int64(s.Limits.CPUTime)) }

// setCPUTime takes the place of RLIMIT_CPU, since a Spec with both is not valid: what each process may have, all may have
// together then, if it is less.
func setCPUTime(s *nsjail.Spec, d nsjail.Duration) {
	if r, own := s.Limits.Rlimits["cpu"]; own {
		if r.Hard >= 0 && r.Hard < int64(d/nsjail.Duration(time.Second)) {
			d = nsjail.Duration(max(r.Hard, 1)) * nsjail.Duration(time.Second)
		}
		setRlimit(s, "cpu", 0, false)
	}
	s.Limits.CPUTime = d
}

func grace() ceiling {
	of := func(l *Limits) int64 {
		if l.Grace == 0 && l.Wall > 0 {
			return int64(DefaultGrace)
		}
		return int64(l.Grace)
	}
	return ceiling{"grace", of, func(s *nsjail.Spec) (int64, bool) { return int64(s.Limits.Grace), s.Limits.Grace != 0 },
		func(s *nsjail.Spec, v int64) { s.Limits.Grace = nsjail.Duration(v) }, showTime}
}

const millionths = 1e6

func cpus() ceiling {
	return ceiling{"cpus",
		func(l *Limits) int64 { return int64(math.Round(l.CPUs * millionths)) },
		func(s *nsjail.Spec) (int64, bool) {
			return zeroIsAll(int64(math.Round(min(s.Limits.CPUs*millionths, math.MaxInt64/4))))
		},
		func(s *nsjail.Spec, v int64) { setCPUs(s, float64(v)/millionths) },
		func(v int64) string { return fmt.Sprint(float64(v) / millionths) }}
}

// setCPUs keeps what nsjail asks of the fields beside it: at least 1ms in each period, and no burst beyond the quota.
func setCPUs(s *nsjail.Spec, v float64) {
	l := &s.Limits
	l.CPUs = v
	period := l.CPUPeriod
	if period == 0 {
		period = nsjail.DefaultCPUPeriod
	}
	if quota := time.Duration(v * float64(period)); quota < time.Millisecond {
		l.CPUPeriod, period = nsjail.DefaultCPUPeriod, nsjail.DefaultCPUPeriod
	}
	if quota := nsjail.Duration(time.Duration(v * float64(period)).Truncate(time.Microsecond)); l.CPUBurst > quota {
		l.CPUBurst = quota
	}
}

// setMemory keeps the parts of memory within it.
func setMemory(s *nsjail.Spec, v nsjail.Bytes) {
	l := &s.Limits
	l.Memory = v
	l.MemoryHigh, l.MemoryLow, l.MemoryMin = min(l.MemoryHigh, v), min(l.MemoryLow, v), min(l.MemoryMin, v)
}

// swap counts a Spec's 0 as its memory, which it means.
func swap() ceiling {
	return ceiling{"memory_swap",
		func(l *Limits) int64 { return int64(max(l.MemorySwap, l.Memory)) },
		func(s *nsjail.Spec) (int64, bool) {
			switch v := s.Limits.MemorySwap; {
			case v < 0:
				return math.MaxInt64, true
			default:
				return int64(v), v != 0
			}
		},
		func(s *nsjail.Spec, v int64) { s.Limits.MemorySwap = nsjail.Bytes(v) }, showBytes}
}

// processes sees RLIMIT_NPROC as well, which a Spec may have instead.
func processes() ceiling {
	return ceiling{"processes",
		func(l *Limits) int64 { return l.Processes },
		func(s *nsjail.Spec) (int64, bool) {
			if r, own := s.Limits.Rlimits["nproc"]; own {
				return unlimited(r.Hard), true
			}
			if s.Limits.Processes == 0 {
				return nsjail.DefaultProcesses, false
			}
			return unlimited(s.Limits.Processes), true
		},
		func(s *nsjail.Spec, v int64) {
			setRlimit(s, "nproc", 0, false)
			s.Limits.Processes = v
		}, showCount}
}

func unlimited(v int64) int64 {
	if v < 0 {
		return math.MaxInt64
	}
	return v
}
