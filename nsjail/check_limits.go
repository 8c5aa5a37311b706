package nsjail

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
)

// RlimitNames are the sixteen resources of getrlimit(2), by the names of ulimit and docker.
func RlimitNames() []string {
	return []string{"as", "core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nice", "nofile", "nproc",
		"rss", "rtprio", "rttime", "sigpending", "stack"}
}

func (c *checker) limits(s *Spec) {
	l := s.Limits
	if l.CPUTime < 0 {
		c.add("limits.cpu_time", l.CPUTime.String()+" is negative", "write a duration, as in 10s, or leave it out for no limit")
	}
	if l.Processes < -1 {
		c.add("limits.processes", fmt.Sprintf("%d is not a number of processes", l.Processes), "write at least 1, or -1 for no limit")
	}
	if l.Output < 0 {
		c.add("limits.output", fmt.Sprintf("%d is negative", l.Output), "write a size, as in 8m, or leave it out for no limit")
	}
	c.cgroupLimits(s)
}

// cgroupLimits checks the limits that only a control group can hold: first that they make sense, then that the
// caller agreed to go without.
func (c *checker) cgroupLimits(s *Spec) {
	l := s.Limits
	if l.Memory < 0 || l.MemorySwap < 0 {
		field, v := "limits.memory", l.Memory
		if v >= 0 {
			field, v = "limits.memory_swap", l.MemorySwap
		}
		c.add(field, fmt.Sprintf("%d is negative", v), "write a size, as in 512m")
	}
	if !(l.CPUs >= 0) || math.IsInf(l.CPUs, 0) { // a NaN compares false
		c.add("limits.cpus", strconv.FormatFloat(l.CPUs, 'g', -1, 64)+" is not a number of processors", "write it as in 0.5 or 2")
	}
	if l.CPUSet != "" && !validCPUSet(l.CPUSet) {
		c.add("limits.cpuset", quote(l.CPUSet)+" is not a list of processors", "write it as in 0-3,6")
	}
	for _, asked := range []struct {
		name string
		set  bool
	}{{"memory", l.Memory != 0}, {"memory_swap", l.MemorySwap != 0}, {"cpus", l.CPUs != 0}, {"cpuset", l.CPUSet != ""}} {
		if asked.set && !contains(s.Optional, asked.name) {
			c.add("limits."+asked.name, "it needs a control group, which this version cannot make",
				"remove it, or list it under optional: --optional "+asked.name)
		}
	}
}

// validCPUSet says whether s is a list of numbers and ranges, as cpuset(7) writes it.
func validCPUSet(s string) bool {
	for _, part := range strings.Split(s, ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		a, errA := strconv.ParseUint(first, 10, 16)
		b, errB := strconv.ParseUint(last, 10, 16)
		if errA != nil || errB != nil || a > b {
			return false
		}
	}
	return true
}

func (c *checker) rlimits(s *Spec) {
	names := make([]string, 0, len(s.Limits.Rlimits))
	for name := range s.Limits.Rlimits {
		names = append(names, name)
	}
	sort.Strings(names) // the same Spec gives the same answer
	for _, name := range names {
		c.rlimit(s, name, s.Limits.Rlimits[name])
	}
}

func (c *checker) rlimit(s *Spec, name string, r Rlimit) {
	field := "limits.rlimits." + name
	if !contains(RlimitNames(), name) {
		c.add("limits.rlimits", quote(name)+" is not a resource of getrlimit(2)", didYouMean(name, RlimitNames()))
		return
	}
	switch {
	case r.Soft < -1 || r.Hard < -1:
		c.add(field, fmt.Sprintf("%d is negative", min(r.Soft, r.Hard)), "write -1 for no limit")
	case r.Hard != -1 && (r.Soft == -1 || r.Soft > r.Hard):
		c.add(field, fmt.Sprintf("the soft limit %s is more than the hard limit %d", rlimitText(r.Soft), r.Hard), "raise the hard limit or lower the soft one")
	case name == "nproc" && s.Limits.Processes != 0:
		c.add(field, "the limit on processes is the same limit", "remove one of the two")
	case name == "cpu" && s.Limits.CPUTime != 0:
		c.add(field, "the limit on processor time is the same limit", "remove one of the two")
	}
}

func rlimitText(v int64) string {
	if v == -1 {
		return "unlimited"
	}
	return strconv.FormatInt(v, 10)
}

func contains(list []string, s string) bool {
	for _, have := range list {
		if have == s {
			return true
		}
	}
	return false
}
