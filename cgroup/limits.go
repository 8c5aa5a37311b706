package cgroup

import (
	"strconv"
	"time"
)

// Limits are the limits of a jail's group. A zero field sets nothing.
type Limits struct {
	Memory     int64 // bytes; above it, if nothing can be reclaimed, the group's processes are killed
	MemoryHigh int64 // bytes; above it they are throttled and their memory is reclaimed
	MemoryLow  int64 // bytes; below it their memory is reclaimed only if no other is left
	MemoryMin  int64 // bytes; below it their memory is never reclaimed
	Swap       Swap
	Zswap      int64 // bytes kept compressed by zswap; above it they go to swap on disk
	NoOOMGroup bool  // out of memory kills one process instead of all
	Processes  int64 // processes and threads

	CPUQuota  time.Duration // processor time in each period
	CPUPeriod time.Duration // 0 is 100 ms
	CPUBurst  time.Duration // unused time that may be saved for later periods
	CPUWeight int           // 1 to 10000; others have 100
	CPUTime   bool          // measure the processor time: CPUUsage
	CPUs      string        // processors, as cpuset(7) lists them
	Mems      string        // memory nodes, in the same form

	IO       []Device
	IOWeight int // 1 to 10000; others have 100

	HugeTLB map[string]int64 // bytes by page size as the kernel names it: 2MB
	Files   []File
}

// Swap is how much of a group's memory may be in swap.
type Swap struct {
	Set     bool
	Max     int64 // bytes, not counting Limits.Memory; -1 is unlimited
	Implied bool  // set by the limit on memory: a kernel that does not account swap is no error
}

// Device holds the limits of one block device; 0 is none.
type Device struct {
	Major, Minor                           uint32
	ReadBps, WriteBps, ReadIOPS, WriteIOPS int64 // bytes and operations a second
}

// File is a value to write to a file of the group for which Limits has no field.
type File struct{ Name, Value string }

// DefaultPeriod is the kernel's default period of cpu.max.
const DefaultPeriod = 100 * time.Millisecond

// number formats a limit; -1 is the kernel's "max".
func number(n int64) string {
	if n < 0 {
		return "max"
	}
	return strconv.FormatInt(n, 10)
}
