package policy

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"brig/nsjail"
)

// DefaultGrace is the ceiling of grace if the policy has only one of wall, so that the total time is bounded.
const DefaultGrace = nsjail.Duration(10 * time.Second)

// getWall returns the wall limit. Its default does not apply to a jail with a terminal.
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

// graceOf returns the ceiling of the time after the wall limit.
func graceOf(l *Limits) int64 {
	if l.Grace == 0 && l.Wall > 0 {
		return int64(DefaultGrace)
	}
	return int64(l.Grace)
}

func getGrace(s *nsjail.Spec) (int64, bool) { return int64(s.Limits.Grace), s.Limits.Grace != 0 }

// setCPUTime sets the CPU time limit and removes RLIMIT_CPU, since a Spec with both is invalid. If RLIMIT_CPU, a limit
// of each process, is lower, its value becomes the limit of all processes together.
func setCPUTime(s *nsjail.Spec, v int64) {
	d := nsjail.Duration(v)
	if r, own := s.Limits.Rlimits["cpu"]; own {
		if r.Hard >= 0 && r.Hard < int64(d/nsjail.Duration(time.Second)) {
			d = nsjail.Duration(max(r.Hard, 1)) * nsjail.Duration(time.Second)
		}
		setRlimit(s, "cpu", 0, false)
	}
	s.Limits.CPUTime = d
}

// setCPUs sets the number of processors and keeps related fields valid: a quota of at least 1ms in each period, and no
// burst above the quota.
func setCPUs(s *nsjail.Spec, millionth int64) {
	l, v := &s.Limits, float64(millionth)/millionths
	l.CPUs = v
	period := cmp.Or(l.CPUPeriod, nsjail.DefaultCPUPeriod)
	if quota := time.Duration(v * float64(period)); quota < time.Millisecond {
		l.CPUPeriod, period = nsjail.DefaultCPUPeriod, nsjail.DefaultCPUPeriod
	}
	if quota := nsjail.Duration(time.Duration(v * float64(period)).Truncate(time.Microsecond)); l.CPUBurst > quota {
		l.CPUBurst = quota
	}
}

// setMemory sets the memory limit, and lowers the limits that must not exceed it.
func setMemory(s *nsjail.Spec, v int64) {
	s.Limits.Memory = nsjail.Bytes(v)
	for i := range limitTable() {
		r := &limitTable()[i]
		if part, ok := r.Field(&s.Limits).(*nsjail.Bytes); ok && r.Below {
			*part = min(*part, nsjail.Bytes(v))
		}
	}
}

func swapOf(l *Limits) int64 { return int64(max(l.MemorySwap, l.Memory)) }

// getSwap returns the limit of memory and swap. 0 is not a set value: it means the same as the memory limit.
func getSwap(s *nsjail.Spec) (int64, bool) {
	v := s.Limits.MemorySwap
	return unlimited(int64(v)), v != 0
}

// getProcesses returns the limit of processes. A Spec may have RLIMIT_NPROC instead.
func getProcesses(s *nsjail.Spec) (int64, bool) {
	if r, own := s.Limits.Rlimits["nproc"]; own {
		return unlimited(r.Hard), true
	}
	if s.Limits.Processes == 0 {
		return nsjail.DefaultProcesses, false
	}
	return unlimited(s.Limits.Processes), true
}

func setProcesses(s *nsjail.Spec, v int64) {
	setRlimit(s, "nproc", 0, false)
	s.Limits.Processes = v
}

func unlimited(v int64) int64 {
	if v < 0 {
		return math.MaxInt64
	}
	return v
}

func tmpfsSize(m *nsjail.Mount) int64   { return int64(m.Size) }
func tmpfsInodes(m *nsjail.Mount) int64 { return m.Inodes }

func getTmpfs(s *nsjail.Spec) (int64, bool) {
	return largest(s, int64(nsjail.DefaultTmpfsSize), tmpfsSize)
}

func setTmpfs(s *nsjail.Spec, v int64) {
	lower(s, v, int64(nsjail.DefaultTmpfsSize), tmpfsSize, func(m *nsjail.Mount) { m.Size = nsjail.Bytes(v) })
}

func getInodes(s *nsjail.Spec) (int64, bool) {
	return largest(s, nsjail.DefaultTmpfsInodes, tmpfsInodes)
}

func setInodes(s *nsjail.Spec, v int64) {
	lower(s, v, nsjail.DefaultTmpfsInodes, tmpfsInodes, func(m *nsjail.Mount) { m.Inodes = v })
}

// largest returns the largest size of all tmpfs mounts, and whether the Spec sets any size.
func largest(s *nsjail.Spec, byDefault int64, get func(*nsjail.Mount) int64) (most int64, asked bool) {
	for i := range s.Mounts {
		if s.Mounts[i].Type != nsjail.MountTmpfs {
			continue
		}
		v := get(&s.Mounts[i])
		asked = asked || v > 0
		if v == 0 {
			v = byDefault
		}
		most = max(most, v)
	}
	return most, asked
}

func lower(s *nsjail.Spec, most, byDefault int64, get func(*nsjail.Mount) int64, set func(*nsjail.Mount)) {
	s.Mounts = slices.Clone(s.Mounts) // the list may be the caller's
	for i := range s.Mounts {
		v := get(&s.Mounts[i])
		if v == 0 {
			v = byDefault
		}
		if s.Mounts[i].Type == nsjail.MountTmpfs && v > most {
			set(&s.Mounts[i])
		}
	}
}

func getRootSize(s *nsjail.Spec) (int64, bool) {
	switch r := s.Rootfs; {
	case !r.Writable:
		return 0, false
	case r.Size == 0:
		return int64(nsjail.DefaultRootSize), false
	default:
		return int64(r.Size), true
	}
}

func setRootSize(s *nsjail.Spec, v int64) { s.Rootfs.Size = nsjail.Bytes(v) }

// getHard returns a function that returns a hard limit of getrlimit(2).
func getHard(resource string) func(*nsjail.Spec) (int64, bool) {
	return func(s *nsjail.Spec) (int64, bool) {
		if r, own := s.Limits.Rlimits[resource]; own {
			return unlimited(r.Hard), true
		}
		if r, ok := nsjail.DefaultRlimits[resource]; ok {
			return unlimited(r.Hard), false
		}
		return math.MaxInt64, false
	}
}

func setHard(resource string) func(*nsjail.Spec, int64) {
	return func(s *nsjail.Spec, v int64) { setRlimit(s, resource, v, true) }
}

// setRlimit lowers a resource limit to v if keep is set, and otherwise removes it from the Spec.
func setRlimit(s *nsjail.Spec, resource string, v int64, keep bool) {
	limits := maps.Clone(s.Limits.Rlimits) // the map may be the caller's
	if !keep {
		delete(limits, resource)
		if len(limits) == 0 {
			limits = nil
		}
		s.Limits.Rlimits = limits
		return
	}
	soft := v
	if r, own := limits[resource]; own {
		soft = min(unlimited(r.Soft), v)
	} else if r, ok := nsjail.DefaultRlimits[resource]; ok {
		soft = min(unlimited(r.Soft), v)
	}
	if limits == nil {
		limits = map[string]nsjail.Rlimit{}
	}
	limits[resource] = nsjail.Rlimit{Soft: soft, Hard: v}
	s.Limits.Rlimits = limits
}

// rlimits refuses a resource limit above nsjail's default, unless a ceiling of this policy will lower it.
func (p *Policy) rlimits(s *nsjail.Spec) *nsjail.Refusal {
	if p.has("rlimits") {
		return nil
	}
	bounded := map[string]bool{"nproc": p.Limits.Processes > 0, "fsize": p.Limits.FileSize > 0,
		"nofile": p.Limits.OpenFiles > 0}
	for _, name := range slices.Sorted(maps.Keys(s.Limits.Rlimits)) {
		if bounded[name] {
			continue
		}
		most := int64(math.MaxInt64) - 1 // without a default in nsjail, only infinity is refused
		if r, ok := nsjail.DefaultRlimits[name]; ok {
			most = unlimited(r.Hard)
		}
		if r := s.Limits.Rlimits[name]; unlimited(r.Hard) > most {
			return p.noFeature("rlimits", "limits.rlimits."+name)
		}
	}
	return nil
}
