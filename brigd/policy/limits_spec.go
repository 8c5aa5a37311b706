package policy

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"brig/nsjail"
	"brig/nsjail/spec"
)

// limitTable returns the table of a Spec's limits, which must not be modified.
var limitTable = sync.OnceValue(func() []spec.Limit { return slices.Collect(spec.LimitTable()) })

var limitFields = sync.OnceValue(func() map[string]func(*nsjail.Limits) any {
	fields := map[string]func(*nsjail.Limits) any{}
	for _, r := range limitTable() {
		fields[r.Name] = r.Field
	}
	return fields
})

// limitField returns a pointer to the Spec's limit with a ceiling's name.
func limitField(s *nsjail.Spec, ceiling string) any {
	if ceiling == "root_size" {
		return &s.Rootfs.Size
	}
	return limitFields()[ceiling](&s.Limits)
}

// resources are the ceilings that are resource limits of getrlimit(2).
var resources = map[string]string{"file_size": "fsize", "open_files": "nofile"}

// limitOf returns the Spec's limit with a ceiling's name, math.MaxInt64 for none, and whether the Spec sets it: false
// for a default.
func limitOf(s *nsjail.Spec, ceiling string) (v int64, asked bool) {
	v = math.MaxInt64
	switch ceiling {
	case "wall":
		if !s.TTY { // the default does not apply to a jail with a terminal
			v = int64(spec.DefaultWall)
		}
	case "grace", "memory_swap": // absent, the latter means the same as the memory limit
		v = 0
	case "processes":
		if r, own := rlimit(s, "nproc"); own {
			return r.Hard, true
		}
		v = spec.DefaultProcesses
	case "tmpfs", "tmpfs_inodes": // the largest of all mounts
		v = 0
		eachTmpfs(s, ceiling, func(field any, size int64) { v, asked = max(v, size), asked || number(field) > 0 })
		return v, asked
	case "root_size":
		if !s.Rootfs.Writable {
			return 0, false
		}
		v = int64(spec.DefaultRootSize)
	case "file_size", "open_files":
		r, own := rlimit(s, resources[ceiling])
		return r.Hard, own
	}
	if own := number(limitField(s, ceiling)); own != 0 {
		return unlimited(own), true
	}
	return v, false
}

func unlimited(v int64) int64 {
	if v < 0 {
		return math.MaxInt64
	}
	return v
}

// lower sets the Spec's limit with a ceiling's name, and keeps what depends on it valid.
func lower(s *nsjail.Spec, ceiling string, v int64) {
	switch ceiling {
	case "cpu_time":
		v = cpuTime(s, v)
	case "processes":
		dropRlimit(s, "nproc")
	case "tmpfs", "tmpfs_inodes":
		s.Mounts = slices.Clone(s.Mounts) // the list may be the caller's
		eachTmpfs(s, ceiling, func(field any, size int64) {
			if size > v {
				setNumber(field, v)
			}
		})
		return
	case "file_size", "open_files":
		lowerRlimit(s, resources[ceiling], v)
		return
	}
	setNumber(limitField(s, ceiling), v)
	switch ceiling {
	case "cpus":
		fitQuota(&s.Limits)
	case "memory":
		fitMemory(&s.Limits)
	}
}

// cpuTime removes RLIMIT_CPU, since a Spec with both limits is invalid. If RLIMIT_CPU, a limit of each process, is
// lower than v, its value becomes the limit of all processes together, which is returned.
func cpuTime(s *nsjail.Spec, v int64) int64 {
	r, own := s.Limits.Rlimits["cpu"]
	dropRlimit(s, "cpu")
	if own && r.Hard >= 0 && r.Hard < v/int64(time.Second) {
		return max(r.Hard, 1) * int64(time.Second)
	}
	return v
}

// fitQuota keeps what depends on the number of processors valid: a quota of at least 1ms in each period, and no burst
// above the quota.
func fitQuota(l *nsjail.Limits) {
	period := cmp.Or(l.CPUPeriod, spec.DefaultCPUPeriod)
	if quota := time.Duration(l.CPUs * float64(period)); quota < time.Millisecond {
		l.CPUPeriod, period = spec.DefaultCPUPeriod, spec.DefaultCPUPeriod
	}
	quota := nsjail.Duration(time.Duration(l.CPUs * float64(period)).Truncate(time.Microsecond))
	l.CPUBurst = min(l.CPUBurst, quota)
}

// fitMemory lowers the limits that must not exceed that of memory.
func fitMemory(l *nsjail.Limits) {
	for _, r := range limitTable() {
		if part, ok := r.Field(l).(*nsjail.Bytes); ok && r.Below {
			*part = min(*part, l.Memory)
		}
	}
}

// eachTmpfs calls visit for the scratch that a Spec asks for, and for each tmpfs and cow mount, with a pointer to the
// bound that a ceiling lowers, and the bound or its default.
func eachTmpfs(s *nsjail.Spec, ceiling string, visit func(field any, v int64)) {
	if ceiling == "tmpfs" && s.Scratch > 0 {
		visit(&s.Scratch, int64(s.Scratch))
	}
	for i := range s.Mounts {
		m := &s.Mounts[i]
		size, inodes := spec.DefaultTmpfsSize, int64(spec.DefaultTmpfsInodes)
		if m.Type == nsjail.MountCOW {
			size, inodes = spec.DefaultCOWSize, spec.DefaultCOWInodes
		}
		switch {
		case m.Type != nsjail.MountTmpfs && m.Type != nsjail.MountCOW:
		case ceiling == "tmpfs":
			visit(&m.Size, int64(cmp.Or(m.Size, size)))
		default:
			visit(&m.Inodes, cmp.Or(m.Inodes, inodes))
		}
	}
}

// rlimit returns a resource limit of getrlimit(2), and whether the Spec sets it. Without nsjail's default it is
// infinite.
func rlimit(s *nsjail.Spec, resource string) (r spec.Rlimit, own bool) {
	r, own = s.Limits.Rlimits[resource]
	if !own {
		var limited bool
		if r, limited = spec.DefaultRlimits[resource]; !limited {
			r = spec.Rlimit{Soft: -1, Hard: -1}
		}
	}
	return spec.Rlimit{Soft: unlimited(r.Soft), Hard: unlimited(r.Hard)}, own
}

// lowerRlimit sets a hard limit, and lowers the soft one to it.
func lowerRlimit(s *nsjail.Spec, resource string, v int64) {
	r, _ := rlimit(s, resource)
	limits := maps.Clone(s.Limits.Rlimits) // the map may be the caller's
	if limits == nil {
		limits = map[string]spec.Rlimit{}
	}
	limits[resource] = spec.Rlimit{Soft: min(r.Soft, v), Hard: v}
	s.Limits.Rlimits = limits
}

// dropRlimit removes a resource limit from the Spec.
func dropRlimit(s *nsjail.Spec, resource string) {
	limits := maps.Clone(s.Limits.Rlimits) // the map may be the caller's
	if delete(limits, resource); len(limits) == 0 {
		limits = nil
	}
	s.Limits.Rlimits = limits
}
