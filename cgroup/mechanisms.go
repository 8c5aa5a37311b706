package cgroup

import (
	"cmp"
	"strings"
)

// Mechanism is one limit that a group can hold. Reports and --optional use its name.
type Mechanism struct {
	Name string
	What string // one line for a reader
	// Controller is the controller in version 2, and Legacy that in version 1 if the name differs.
	Controller, Legacy string

	lacking string // why version 1 has no such limit
	within  string // the version 2 file of another mechanism that also counts this one's resource

	// settings returns the files of version 2 and of version 1 with their values; none if the limit is not set.
	settings func(l *Limits) (v2, v1 []setting)
	implied  func(l *Limits) bool // reports whether another limit implies it, so that its absence is no error
}

// Mechanisms returns every limit that a group can hold, in the order of a report.
func Mechanisms() []Mechanism { return mechanisms }

// cgroupFile is the mechanism of Limits.Files. The controller is in the name of each file.
const cgroupFile = "cgroup_file"

// mechanisms is the table of limits: the files of cgroup-v2.rst and of cgroup-v1/*.rst that hold them.
var mechanisms = []Mechanism{
	{Name: "memory", What: "the limit on memory, page cache and tmpfs included", Controller: "memory",
		settings: memorySettings},
	// Version 1 counts the buffers of TCP and UDP separately from other memory, and only after this file has been
	// written.
	{Name: "memory_sockets", What: "the limit on the buffers of TCP and UDP sockets, which the limit on memory brings",
		Controller: "memory", within: "memory.max", implied: func(*Limits) bool { return true },
		settings: func(l *Limits) (v2, v1 []setting) { return nil, sizeFile("memory.kmem.tcp.limit_in_bytes", l.Memory) }},
	{Name: "memory_swap", What: "the limit on memory and swap together", Controller: "memory",
		implied: func(l *Limits) bool { return l.Swap.Implied }, settings: swapSettings},
	{Name: "memory_high", What: "the throttle on memory: the kernel reclaims above it", Controller: "memory",
		lacking:  "version 1 has no such limit",
		settings: func(l *Limits) (v2, v1 []setting) { return sizeFile("memory.high", l.MemoryHigh), nil }},
	{Name: "memory_zswap", What: "the limit on memory that zswap keeps compressed", Controller: "memory",
		lacking:  "version 1 has no such limit",
		settings: func(l *Limits) (v2, v1 []setting) { return sizeFile("memory.zswap.max", l.Zswap), nil }},
	{Name: "memory_low", What: "the memory that is spared while others have any to give", Controller: "memory",
		settings: func(l *Limits) (v2, v1 []setting) {
			return sizeFile("memory.low", l.MemoryLow), sizeFile("memory.soft_limit_in_bytes", l.MemoryLow)
		}},
	{Name: "memory_min", What: "the memory that is never reclaimed", Controller: "memory",
		lacking:  "version 1 has no such guarantee",
		settings: func(l *Limits) (v2, v1 []setting) { return sizeFile("memory.min", l.MemoryMin), nil }},
	{Name: "processes", What: "the limit on processes and threads", Controller: "pids",
		settings: func(l *Limits) (v2, v1 []setting) {
			return countFile("pids.max", l.Processes), countFile("pids.max", l.Processes)
		}},
	{Name: "cpus", What: "the limit on processor time in each period", Controller: "cpu", settings: quotaSettings},
	{Name: "cpu_burst", What: "the unused time that may be saved up for later periods", Controller: "cpu",
		settings: func(l *Limits) (v2, v1 []setting) {
			us := l.CPUBurst.Microseconds()
			return countFile("cpu.max.burst", us), countFile("cpu.cfs_burst_us", us)
		}},
	{Name: "cpu_weight", What: "the share when processors are short", Controller: "cpu", settings: shareSettings},
	{Name: "cpuset", What: "the choice of processors and memory nodes", Controller: "cpuset", settings: cpusetSettings},
	// It needs no controller and writes no file: see resolving.cpuTime.
	{Name: "cpu_time", What: "the limit on the processor time of all processes together", Legacy: "cpuacct"},
	{Name: "io", What: "the limits on traffic with block devices", Controller: "io", Legacy: "blkio",
		settings: ioSettings},
	{Name: "io_weight", What: "the share when a block device is busy", Controller: "io", Legacy: "blkio",
		settings: weightSettings},
	{Name: "hugetlb", What: "the limits on huge pages", Controller: "hugetlb", settings: hugeSettings},
	{Name: cgroupFile, What: "the files of the control group that Limits.Files lists"},
}

func (m *Mechanism) legacy() string { return cmp.Or(m.Legacy, m.Controller) }

// set reports whether the limits include the mechanism.
func (m *Mechanism) set(l *Limits) bool {
	switch {
	case m.Name == cgroupFile:
		return len(l.Files) > 0
	case m.settings == nil:
		return l.CPUTime
	}
	v2, v1 := m.settings(l)
	return len(v2)+len(v1) > 0
}

// fileSetting returns the mechanism and the setting of one of Limits.Files, with its controller. The core files of
// version 2 need no controller.
func fileSetting(f File) (m Mechanism, value []setting) {
	m.Name = cgroupFile
	m.Controller, _, _ = strings.Cut(f.Name, ".")
	if m.Controller == "cgroup" || f.Name == "cpu.stat" || strings.HasSuffix(f.Name, ".pressure") {
		m.Controller, m.lacking = "", "the file is one of version 2"
	}
	return m, []setting{checked(f.Name, f.Value, anyValue)}
}

// LegacyControllers returns the controllers of version 1 that could hold the limits; nil means all.
func (l *Limits) LegacyControllers() []string {
	if len(l.Files) > 0 {
		return nil
	}
	need := []string{"freezer", "pids", "cpuacct"} // to kill the group at once, its usual limit, its processor time
	for i := range mechanisms {
		if m := &mechanisms[i]; m.set(l) {
			need = append(need, m.legacy())
		}
	}
	return need
}

// All returns limits that set every mechanism with a field, so that Resolve reports which of them a layout can hold.
func All() *Limits {
	return &Limits{Memory: 1 << 30, MemoryHigh: 1 << 30, MemoryLow: 1, MemoryMin: 1, Swap: Swap{Set: true}, Zswap: 1 << 30,
		Processes: 1, CPUQuota: DefaultPeriod, CPUBurst: DefaultPeriod, CPUWeight: 100, CPUTime: true, CPUs: "0",
		IO: []Device{{ReadBps: 1}}, IOWeight: 100, HugeTLB: map[string]int64{"2MB": 0}}
}
