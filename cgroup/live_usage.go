package cgroup

import (
	"math"
	"time"
)

// LiveUsage is what a control group uses now. A figure is left out if the machine does not count it, and a limit if
// there is none.
type LiveUsage struct {
	// Memory is in bytes, with page cache, tmpfs and the kernel's memory; MemoryPeak is the most so far.
	Memory     *uint64 `json:"memory_bytes,omitempty"`
	MemoryPeak *uint64 `json:"memory_peak_bytes,omitempty"`
	// MemoryLimit is memory.max, in bytes.
	MemoryLimit *uint64 `json:"memory_limit_bytes,omitempty"`
	// Swap is in bytes.
	Swap *uint64 `json:"swap_bytes,omitempty"`
	// OOM counts allocations that failed at the memory limit; version 2 only. OOMKill counts killed processes: compare it
	// with 0 only, as one process can count twice.
	OOM     *uint64 `json:"oom_events,omitempty"`
	OOMKill *uint64 `json:"oom_kills,omitempty"`
	// Tasks counts processes and threads; TaskLimit is pids.max.
	Tasks     *uint64 `json:"tasks,omitempty"`
	TaskLimit *uint64 `json:"task_limit,omitempty"`
	// TaskFails counts processes and threads that could not be created at the limit.
	TaskFails *uint64 `json:"task_limit_events,omitempty"`
	// CPU, CPUUser, CPUSystem and Throttled are in microseconds of processor time.
	CPU       *uint64 `json:"cpu_us,omitempty"`
	CPUUser   *uint64 `json:"cpu_user_us,omitempty"`
	CPUSystem *uint64 `json:"cpu_system_us,omitempty"`
	Throttled *uint64 `json:"cpu_throttled_us,omitempty"`
	// Read and Written are bytes from and to block devices. Version 1 counts them only for devices with a limit.
	Read    *uint64 `json:"io_read_bytes,omitempty"`
	Written *uint64 `json:"io_written_bytes,omitempty"`
}

// Live reads what the group uses now, with all groups inside it. It returns nil if the group has been removed.
func (g *Group) Live() (u *LiveUsage) {
	s := g.Read()
	for d := range g.made() {
		if _, err := d.read("cgroup.procs"); removed(err) {
			return nil
		}
		if u == nil {
			u = &LiveUsage{}
		}
		if d.readLive(u); d.holds("blkio") && s.IORead+s.IOWritten == 0 { // without a limit nothing is counted
			s.IORead, s.IOWritten = -1, -1
		}
	}
	if u == nil {
		return nil
	}
	u.MemoryPeak, u.OOMKill, u.TaskFails = known(s.MemoryPeak), known(s.OOMKills), known(s.ProcessesRefused)
	u.CPU, u.CPUUser, u.CPUSystem = microseconds(s.CPU), microseconds(s.User), microseconds(s.System)
	u.Throttled, u.Read, u.Written = microseconds(s.Throttled), known(s.IORead), known(s.IOWritten)
	return u
}

// unlimited is less than what version 1 shows for no limit: the largest number of whole pages.
const unlimited = math.MaxInt64 - 64<<10

// readLive reads what Stats does not have. Version 1, which comes after version 2, has the values if it has the file.
func (d *directory) readLive(u *LiveUsage) {
	for _, f := range []struct {
		to     **uint64
		v2, v1 string
	}{
		{&u.Memory, "memory.current", "memory.usage_in_bytes"},
		{&u.MemoryLimit, "memory.max", "memory.limit_in_bytes"},
		{&u.Tasks, "pids.current", "pids.current"},
		{&u.TaskLimit, "pids.max", "pids.max"},
	} {
		n := int64(-1)
		if d.number(&n, d.pick(f.v2, f.v1)); n >= 0 && n < unlimited {
			*f.to = known(n)
		}
	}
	swap, oom := int64(-1), int64(-1)
	if d.Version == 2 {
		d.number(&swap, "memory.swap.current")
		put(&oom, d.table("memory.events"), "oom", 1)
		u.OOM = known(oom)
	} else {
		put(&swap, d.table("memory.stat"), "total_swap", 1)
	}
	if swap >= 0 {
		u.Swap = known(swap)
	}
}

// known returns nil for a negative number.
func known(n int64) *uint64 {
	if n < 0 {
		return nil
	}
	figure := uint64(n)
	return &figure
}

func microseconds(d time.Duration) *uint64 {
	if d < 0 {
		return nil
	}
	return known(d.Microseconds())
}
