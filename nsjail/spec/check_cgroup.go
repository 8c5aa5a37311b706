package spec

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"brig/cgroup"
	"brig/internal/words"
)

// Bounds of the kernel for the limits of a control group.
const (
	// MinMemory is less than any jail needs. A process of a few instructions is charged 60 KiB for its kernel stack, page
	// tables and descriptors, and init is charged as much again. A real payload needs more.
	MinMemory = Bytes(128 << 10)

	minCPUPeriod = Duration(time.Millisecond) // min_cfs_quota_period, also the minimum of the quota
	maxCPUPeriod = Duration(time.Second)      // max_cfs_quota_period
	maxCPUQuota  = 1<<44 - 1                  // microseconds of quota and burst together: max_cfs_runtime
	maxWeight    = 10000                      // CGROUP_WEIGHT_MAX
)

// memory checks the limits on memory against each other.
func (c *checker) memory(l *Limits) {
	if l.Memory > 0 && l.Memory < MinMemory {
		c.add("limits.memory", fmt.Sprintf("%s is less than the kernel's own needs for one process", l.Memory),
			"write at least "+MinMemory.String())
	}
	switch {
	case l.MemorySwap < -1:
		c.add("limits.memory_swap", fmt.Sprintf("%d is negative", l.MemorySwap),
			"write a size, as in 1g, or -1 for any amount of swap")
	case l.MemorySwap != 0 && l.Memory == 0:
		c.add("limits.memory_swap", "it counts memory and swap together, and there is no limit on memory",
			"set memory as well, or leave it out")
	case l.MemorySwap > 0 && l.MemorySwap < l.Memory:
		c.add("limits.memory_swap",
			fmt.Sprintf("%s counts memory and swap together, and memory alone is %s", l.MemorySwap, l.Memory),
			"write at least that, which means no swap")
	}
	if l.Memory <= 0 {
		return
	}
	for i := range limitRows {
		r := &limitRows[i]
		if part, ok := r.Field(l).(*Bytes); ok && r.Below && *part > l.Memory {
			c.add("limits."+r.Name, fmt.Sprintf("%s is more than the limit on memory, %s", *part, l.Memory),
				"lower it, or raise memory")
		}
	}
}

// cpu checks the limits on processor time: sched-bwc.rst of the kernel's documentation.
func (c *checker) cpu(l *Limits) {
	period, quota := l.bandwidth()
	if period < minCPUPeriod || period > maxCPUPeriod || !wholeMicroseconds(period) {
		c.add("limits.cpu_period", period.String()+" is not a period of whole microseconds from 1ms to 1s",
			"write it as in 50ms")
		return
	}
	switch {
	case l.CPUs == 0:
		c.needsCPUs("cpu_period", l.CPUPeriod)
		c.needsCPUs("cpu_burst", l.CPUBurst)
	case !(l.CPUs > 0 && quota <= maxCPUQuota): // also true for a NaN
		c.add("limits.cpus", strconv.FormatFloat(l.CPUs, 'g', -1, 64)+" is not a number of processors",
			"write it as in 0.5 or 2")
	case quota < float64(time.Duration(minCPUPeriod).Microseconds()):
		cpus := strconv.FormatFloat(l.CPUs, 'g', -1, 64)
		c.add("limits.cpus", fmt.Sprintf("%s of %s is less than the 1ms that the kernel gives at least", cpus, period),
			"write at least "+strconv.FormatFloat(float64(minCPUPeriod)/float64(period), 'g', 3, 64)+", or a longer cpu_period")
	default:
		c.burst(l.CPUBurst, quota)
	}
}

// bandwidth returns the period, and the processor time per period in microseconds.
func (l *Limits) bandwidth() (period Duration, quota float64) {
	period = cmp.Or(l.CPUPeriod, DefaultCPUPeriod)
	return period, math.Round(l.CPUs * float64(time.Duration(period).Microseconds()))
}

// wholeMicroseconds reports whether d is a whole number of microseconds, the kernel's unit.
func wholeMicroseconds(d Duration) bool { return time.Duration(d)%time.Microsecond == 0 }

func (c *checker) needsCPUs(name string, d Duration) {
	if d != 0 {
		c.add("limits."+name, "there is no limit on processors that it could apply to",
			"set cpus as well, or leave it out")
	}
}

// burst checks that the burst does not exceed the quota, in microseconds.
func (c *checker) burst(d Duration, quota float64) {
	us := float64(time.Duration(d).Microseconds())
	switch {
	case d < 0:
		c.add("limits.cpu_burst", d.String()+" is negative", "write a duration, as in 20ms, or leave it out for none")
	case !wholeMicroseconds(d):
		c.add("limits.cpu_burst", d.String()+" is not a whole number of microseconds", "write it as in 20ms")
	case us+quota > maxCPUQuota:
		c.add("limits.cpu_burst", d.String()+" and the quota are more than the kernel can count", "lower cpus")
	case us > quota:
		most := time.Duration(quota) * time.Microsecond
		c.add("limits.cpu_burst", fmt.Sprintf("%s is more than the quota, %s in each period", d, most),
			"write at most that, or raise cpus")
	}
}

func (c *checker) weight(field string, w int) {
	if w < 0 || w > maxWeight {
		c.add(field, fmt.Sprintf("%d is not a weight", w),
			"write 1 to 10000, where 100 is the kernel's default, or leave it out")
	}
}

// cpuset checks a list of numbers and ranges in the format of cpuset(7).
func (c *checker) cpuset(name, list, what string) {
	if list != "" && (len(list) > maxGroupValue || list != strings.TrimSpace(list) || cgroup.Count(list) == 0) {
		c.add("limits."+name, words.Quote(list)+" is not a list of "+what, "write it as in 0-3,6")
	}
}

func (c *checker) cgroupParent(p string) {
	switch {
	case p == "":
	case strings.Contains(p, "\n"):
		c.add("cgroup_parent", words.Quote(p)+" has a line break, which no control group has in its name", "remove it")
	case c.bytes("cgroup_parent", p):
		c.cleanPath("cgroup_parent", p)
	}
}
