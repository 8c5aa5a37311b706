package policy

import (
	"maps"
	"math"
	"slices"

	"brig/nsjail"
)

// tmpfs bounds each tmpfs that a Spec mounts.
func tmpfs() ceiling {
	return ceiling{"tmpfs", func(l *Limits) int64 { return int64(l.Tmpfs) },
		func(s *nsjail.Spec) (int64, bool) {
			return largest(s, int64(nsjail.DefaultTmpfsSize), func(m *nsjail.Mount) int64 { return int64(m.Size) })
		},
		func(s *nsjail.Spec, v int64) {
			lower(s, v, int64(nsjail.DefaultTmpfsSize), func(m *nsjail.Mount) int64 { return int64(m.Size) }, func(m *nsjail.Mount) { m.Size = nsjail.Bytes(v) })
		}, showBytes}
}

func tmpfsInodes() ceiling {
	return ceiling{"tmpfs_inodes", func(l *Limits) int64 { return l.TmpfsInodes },
		func(s *nsjail.Spec) (int64, bool) {
			return largest(s, nsjail.DefaultTmpfsInodes, func(m *nsjail.Mount) int64 { return m.Inodes })
		},
		func(s *nsjail.Spec, v int64) {
			lower(s, v, nsjail.DefaultTmpfsInodes, func(m *nsjail.Mount) int64 { return m.Inodes }, func(m *nsjail.Mount) { m.Inodes = v })
		}, showCount}
}

// largest is the most that any tmpfs has, and whether one was asked for in so many words.
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

func rootSize() ceiling {
	return ceiling{"root_size", func(l *Limits) int64 { return int64(l.RootSize) },
		func(s *nsjail.Spec) (int64, bool) {
			switch r := s.Rootfs; {
			case !r.Writable:
				return 0, false
			case r.Size == 0:
				return int64(nsjail.DefaultRootSize), false
			default:
				return int64(r.Size), true
			}
		},
		func(s *nsjail.Spec, v int64) { s.Rootfs.Size = nsjail.Bytes(v) }, showBytes}
}

// rlimit bounds the hard limit of a resource of getrlimit(2).
func rlimit(name, resource string, of func(*Limits) int64, show func(int64) string) ceiling {
	return ceiling{name, of,
		func(s *nsjail.Spec) (int64, bool) {
			if r, own := s.Limits.Rlimits[resource]; own {
				return unlimited(r.Hard), true
			}
			if r, ok := nsjail.DefaultRlimits[resource]; ok {
				return unlimited(r.Hard), false
			}
			return math.MaxInt64, false
		},
		func(s *nsjail.Spec, v int64) { setRlimit(s, resource, v, true) }, show}
}

// setRlimit lowers a resource's limits to v, or takes them out of the Spec.
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

// rlimits refuses a resource limit above nsjail's own, unless it has a ceiling here that will lower it.
func (p *Policy) rlimits(s *nsjail.Spec) *nsjail.Refusal {
	if p.has("rlimits") {
		return nil
	}
	bounded := map[string]bool{"nproc": p.Limits.Processes > 0, "fsize": p.Limits.FileSize > 0, "nofile": p.Limits.OpenFiles > 0}
	for _, name := range slices.Sorted(maps.Keys(s.Limits.Rlimits)) {
		if bounded[name] {
			continue
		}
		most := int64(math.MaxInt64) - 1 // any bound is one: only infinity is more than the caller's own
		if r, ok := nsjail.DefaultRlimits[name]; ok {
			most = unlimited(r.Hard)
		}
		if r := s.Limits.Rlimits[name]; unlimited(r.Hard) > most {
			return p.noFeature("rlimits", "limits.rlimits."+name)
		}
	}
	return nil
}
