package spec

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"brig/cgroup"
	"brig/internal/words"
)

// Bounds of the kernel.
const (
	minCPUPeriod = Duration(time.Millisecond) // min_cfs_quota_period, also the minimum of the quota
	maxCPUPeriod = Duration(time.Second)      // max_cfs_quota_period
	maxCPUQuota  = 1<<44 - 1                  // microseconds of quota and burst together: max_cfs_runtime
)

// checkCPU checks the limits on processor time: sched-bwc.rst of the kernel's documentation.
func checkCPU(l *Limits) (c problems) {
	period, quota := l.bandwidth()
	if period < minCPUPeriod || period > maxCPUPeriod || !wholeMicroseconds(period) {
		c.add("limits.cpu_period", period.String()+" is not a period of whole microseconds from 1ms to 1s",
			"write it as in 50ms")
		return c
	}
	switch {
	case l.CPUs == 0:
		c = append(c, needsCPUs("cpu_period", l.CPUPeriod)...)
		c = append(c, needsCPUs("cpu_burst", l.CPUBurst)...)
	case !(l.CPUs > 0 && quota <= maxCPUQuota): // also true for a NaN
		c.add("limits.cpus", strconv.FormatFloat(l.CPUs, 'g', -1, 64)+" is not a number of processors",
			"write it as in 0.5 or 2")
	case quota < float64(time.Duration(minCPUPeriod).Microseconds()):
		cpus := strconv.FormatFloat(l.CPUs, 'g', -1, 64)
		c.add("limits.cpus", fmt.Sprintf("%s of %s is less than the 1ms that the kernel gives at least", cpus, period),
			"write at least "+strconv.FormatFloat(float64(minCPUPeriod)/float64(period), 'g', 3, 64)+", or a longer cpu_period")
	default:
		c = append(c, checkBurst(l.CPUBurst, quota)...)
	}
	return c
}

// wholeMicroseconds reports whether d is a whole number of microseconds, the kernel's unit.
func wholeMicroseconds(d Duration) bool { return time.Duration(d)%time.Microsecond == 0 }

func needsCPUs(name string, d Duration) (c problems) {
	if d != 0 {
		c.add("limits."+name, "there is no limit on processors that it could apply to",
			"set cpus as well, or leave it out")
	}
	return c
}

// checkBurst checks that the burst does not exceed the quota, in microseconds.
func checkBurst(d Duration, quota float64) (c problems) {
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
	return c
}

// checkList checks a list of numbers and ranges in the format of cpuset(7).
func checkList(name, list, what string) (c problems) {
	if list != "" && (len(list) > maxGroupValue || list != strings.TrimSpace(list) || cgroup.Count(list) == 0) {
		c.add("limits."+name, words.Quote(list)+" is not a list of "+what, "write it as in 0-3,6")
	}
	return c
}
