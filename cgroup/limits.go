package cgroup

import "time"

// Limits is what a jail's group is to hold. A zero field sets nothing.
type Limits struct {
	Memory     int64 // bytes; over it, and if nothing can be reclaimed, the group's processes are killed
	MemoryHigh int64 // bytes; over it they are slowed down and reclaimed from
	MemoryLow  int64 // bytes; under it they are reclaimed from only if nothing else is left
	MemoryMin  int64 // bytes; under it they are never reclaimed from
	Swap       Swap
	NoOOMGroup bool  // out of memory kills one process instead of all
	Processes  int64 // processes and threads

	CPUQuota  time.Duration // processor time in each period
	CPUPeriod time.Duration // 0 is 100 ms
	CPUBurst  time.Duration // unused time that may be saved for later periods
	CPUWeight int           // 1 to 10000; others have 100
	CPUTime   bool          // the processor time is to be measured: CPUUsage
	CPUs      string        // processors, as cpuset(7) lists them
	Mems      string        // memory nodes, likewise

	IO       []Device
	IOWeight int // 1 to 10000; others have 100

	HugeTLB map[string]int64 // bytes by page size as the kernel names it: 2MB
	Files   []File
}

// Swap is how much of a group's memory may be in swap.
type Swap struct {
	Set     bool
	Max     int64 // bytes beside Limits.Memory; -1 is all that there is
	Implied bool  // nobody asked: a kernel that does not account swap is no error
}

// Device is the limits of one block device; 0 is none.
type Device struct {
	Major, Minor                           uint32
	ReadBps, WriteBps, ReadIOPS, WriteIOPS int64 // bytes and operations a second
}

// File is a value to write to a file of the group that Limits has no word for.
type File struct{ Name, Value string }
