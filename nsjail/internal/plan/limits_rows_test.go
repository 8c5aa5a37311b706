package plan

import "brig/nsjail/spec"

// tableRow is a flag as a reader writes it, and what it means. What it is held by stands in the plan under a
// mechanism's name, or is the same in every plan.
type tableRow struct {
	flag, mechanism, always string
	set                     func(*spec.Spec)
}

func limited(f func(*spec.Limits)) func(*spec.Spec) { return func(s *spec.Spec) { f(&s.Limits) } }

func ioLimit(l spec.IOLimit) func(*spec.Spec) {
	l.Path = "/dev/sda"
	return limited(func(x *spec.Limits) { x.IO = []spec.IOLimit{l} })
}

// tableRows is every flag that limits something.
func tableRows() []tableRow {
	return []tableRow{
		{"`--timeout 30s`", "", "brig's clock (CLOCK_MONOTONIC)", limited(func(l *spec.Limits) { l.Wall = 30e9 })},
		{"`--idle-timeout 5s`", "", "brig's clock, and its copy of the output", limited(func(l *spec.Limits) { l.Idle = 5e9 })},
		{"`--grace 2s`", "", "brig's clock", limited(func(l *spec.Limits) { l.Grace = 2e9 })},
		{"`--max-output 64k`", "", "brig's copy of the output", limited(func(l *spec.Limits) { l.Output = 64 << 10 })},
		{"`--output-limit 1m`", "", "brig's copy of the output", limited(func(l *spec.Limits) { l.OutputLimit = 1 << 20 })},
		{"`--ulimit nofile=64`", "", "RLIMIT_NOFILE", limited(func(l *spec.Limits) { l.Rlimits = map[string]spec.Rlimit{"nofile": {Soft: 64, Hard: 64}} })},
		{"`--pids-limit 32`", "processes", "", limited(func(l *spec.Limits) { l.Processes = 32 })},
		{"`--cpu-time 10s`", "cpu_time", "", limited(func(l *spec.Limits) { l.CPUTime = 10e9 })},
		{"`--memory 64m`", "memory", "", limited(func(l *spec.Limits) { l.Memory = 64 << 20 })},
		{"`--memory 64m`, TCP and UDP", "memory_sockets", "", limited(func(l *spec.Limits) { l.Memory = 64 << 20 })},
		{"`--memory 64m --no-oom-group`", "memory", "", limited(func(l *spec.Limits) { l.Memory, l.NoOOMGroup = 64<<20, true })},
		{"`--memory 64m --memory-swap 96m`", "memory_swap", "", limited(func(l *spec.Limits) { l.Memory, l.MemorySwap = 64<<20, 96<<20 })},
		{"`--memory-high 32m`", "memory_high", "", limited(func(l *spec.Limits) { l.MemoryHigh = 32 << 20 })},
		{"`--memory-zswap 4m`", "memory_zswap", "", limited(func(l *spec.Limits) { l.MemoryZswap = 4 << 20 })},
		{"`--memory-reservation 16m`", "memory_low", "", limited(func(l *spec.Limits) { l.MemoryLow = 16 << 20 })},
		{"`--memory-min 8m`", "memory_min", "", limited(func(l *spec.Limits) { l.MemoryMin = 8 << 20 })},
		{"`--cpus 0.5`", "cpus", "", limited(func(l *spec.Limits) { l.CPUs = 0.5 })},
		{"`--cpus 0.5 --cpu-period 50ms`", "cpus", "", limited(func(l *spec.Limits) { l.CPUs, l.CPUPeriod = 0.5, 50e6 })},
		{"`--cpus 0.5 --cpu-burst 10ms`", "cpu_burst", "", limited(func(l *spec.Limits) { l.CPUs, l.CPUBurst = 0.5, 10e6 })},
		{"`--cpu-weight 50`", "cpu_weight", "", limited(func(l *spec.Limits) { l.CPUWeight = 50 })},
		{"`--cpuset-cpus 0-1`", "cpuset", "", limited(func(l *spec.Limits) { l.CPUSet = "0-1" })},
		{"`--cpuset-mems 0`", "cpuset", "", limited(func(l *spec.Limits) { l.CPUSetMems = "0" })},
		{"`--device-read-bps /dev/sda:10m`", "io", "", ioLimit(spec.IOLimit{ReadBps: 10 << 20})},
		{"`--device-write-bps /dev/sda:10m`", "io", "", ioLimit(spec.IOLimit{WriteBps: 10 << 20})},
		{"`--device-read-iops /dev/sda:100`", "io", "", ioLimit(spec.IOLimit{ReadIOPS: 100})},
		{"`--device-write-iops /dev/sda:100`", "io", "", ioLimit(spec.IOLimit{WriteIOPS: 100})},
		{"`--io-weight 50`", "io_weight", "", limited(func(l *spec.Limits) { l.IOWeight = 50 })},
		{"`--hugetlb 2MB=64m`", "hugetlb", "", limited(func(l *spec.Limits) { l.HugeTLB = map[string]spec.Bytes{"2MB": 64 << 20} })},
		{"`--cgroup pids.max=9`", "cgroup_file", "", limited(func(l *spec.Limits) { l.Cgroup = []string{"pids.max=9"} })},
		{"`--cgroup cgroup.max.depth=0`", "cgroup_file", "", limited(func(l *spec.Limits) { l.Cgroup = []string{"cgroup.max.depth=0"} })},
	}
}
