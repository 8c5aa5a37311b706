package spec

import "fmt"

// maxProcesses is the kernel's limit on processes: proc_sys_kernel(5), pid_max.
const maxProcesses = 1<<22 - 1

const maxWeight = 10000 // CGROUP_WEIGHT_MAX

// limitChecks has the checks of limits that are more than the sign of a number. Each is made after the row of the last
// limit that it reads.
var limitChecks = []struct {
	after string
	check func(*Limits) problems
}{
	{"processes", func(l *Limits) problems { return checkProcesses(l.Processes) }},
	{"no_oom_group", checkMemory},
	{"cpu_weight", checkCPU},
	{"cpuset", func(l *Limits) problems { return checkList("cpuset", l.CPUSet, "processors") }},
	{"cpuset_mems", func(l *Limits) problems { return checkList("cpuset_mems", l.CPUSetMems, "memory nodes") }},
	{"io_weight", func(l *Limits) problems { return checkIO(l.IO) }},
	{"hugetlb", func(l *Limits) problems { return checkHugeTLB(l.HugeTLB) }},
	{"cgroup", checkGroupFiles},
}

// checkLimits checks each limit in the order of the table, and limits that depend on each other after the last of them.
func checkLimits(l *Limits) (c problems) {
	for i := range limitRows {
		r := &limitRows[i]
		switch v := r.Field(l).(type) {
		case *Duration:
			c = append(c, checkDuration(r, *v)...)
		case *Bytes:
			if *v < 0 && !r.AnyOf {
				c.add("limits."+r.Name, fmt.Sprintf("%d is negative", *v),
					"write a size, as in "+r.Example+", or leave it out for no limit")
			}
		case *int:
			c = append(c, checkWeight("limits."+r.Name, *v)...)
		}
		for _, related := range limitChecks {
			if related.after == r.Name {
				c = append(c, related.check(l)...)
			}
		}
	}
	return c
}

// checkDuration rejects a negative duration. checkCPU checks those of the processors.
func checkDuration(r *Limit, d Duration) (c problems) {
	if d >= 0 || r.Default || r.Zero != "" {
		return c
	}
	without := "no limit"
	if r.Name == "grace" {
		without = "SIGKILL at once"
	}
	c.add("limits."+r.Name, d.String()+" is negative",
		"write a duration, as in "+r.Example+", or leave it out for "+without)
	return c
}

func checkWeight(field string, w int) (c problems) {
	if w < 0 || w > maxWeight {
		c.add(field, fmt.Sprintf("%d is not a weight", w),
			"write 1 to 10000, where 100 is the kernel's default, or leave it out")
	}
	return c
}

func checkProcesses(n int64) (c problems) {
	switch {
	case n < -1:
		c.add("limits.processes", fmt.Sprintf("%d is not a number of processes", n),
			"write at least 1, or -1 for no limit")
	case n > maxProcesses:
		c.add("limits.processes", fmt.Sprintf("%d is more than the %d that Linux can have", n, maxProcesses),
			"write -1 for no limit")
	}
	return c
}
