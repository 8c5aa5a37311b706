package spec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"brig/internal/words"
)

// RlimitNames returns the sixteen resources of getrlimit(2), sorted, by the names of ulimit and docker.
func RlimitNames() []string { return slices.Sorted(maps.Keys(RlimitNumbers())) }

// maxProcesses is the kernel's limit on processes: proc_sys_kernel(5), pid_max.
const maxProcesses = 1<<22 - 1

// limits checks each limit in the order of the table, and limits that depend on each other after the last of them.
func (c *checker) limits(l *Limits) {
	for i := range limitRows {
		r := &limitRows[i]
		switch v := r.Field(l).(type) {
		case *Duration:
			c.notNegative(r, *v)
		case *Bytes:
			if *v < 0 && !r.AnyOf {
				c.add("limits."+r.Name, fmt.Sprintf("%d is negative", *v),
					"write a size, as in "+r.Example+", or leave it out for no limit")
			}
		case *int:
			c.weight("limits."+r.Name, *v)
		}
		switch r.Name {
		case "processes":
			c.processes(l.Processes)
		case "no_oom_group":
			c.memory(l)
		case "cpu_weight":
			c.cpu(l)
		case "cpuset":
			c.cpuset("cpuset", l.CPUSet, "processors")
		case "cpuset_mems":
			c.cpuset("cpuset_mems", l.CPUSetMems, "memory nodes")
		case "io_weight":
			c.io(l)
		case "hugetlb":
			c.hugetlb(l.HugeTLB)
		case "cgroup":
			c.groupFiles(l)
		}
	}
}

// notNegative rejects a negative duration. cpu checks those of the processors.
func (c *checker) notNegative(r *Limit, d Duration) {
	if d >= 0 || r.Default || r.Zero != "" {
		return
	}
	without := "no limit"
	if r.Name == "grace" {
		without = "SIGKILL at once"
	}
	c.add("limits."+r.Name, d.String()+" is negative",
		"write a duration, as in "+r.Example+", or leave it out for "+without)
}

func (c *checker) processes(n int64) {
	switch {
	case n < -1:
		c.add("limits.processes", fmt.Sprintf("%d is not a number of processes", n),
			"write at least 1, or -1 for no limit")
	case n > maxProcesses:
		c.add("limits.processes", fmt.Sprintf("%d is more than the %d that Linux can have", n, maxProcesses),
			"write -1 for no limit")
	}
}

func (c *checker) rlimits(s *Spec) {
	for _, name := range slices.Sorted(maps.Keys(s.Limits.Rlimits)) {
		c.rlimit(s, name, s.Limits.Rlimits[name])
	}
}

func (c *checker) rlimit(s *Spec, name string, r Rlimit) {
	field := "limits.rlimits." + name
	if !slices.Contains(RlimitNames(), name) {
		c.add("limits.rlimits", words.Quote(name)+" is not a resource of getrlimit(2)", words.DidYouMean(name, RlimitNames()))
		return
	}
	switch {
	case r.Soft < -1 || r.Hard < -1:
		c.add(field, fmt.Sprintf("%d is negative", min(r.Soft, r.Hard)), "write -1 for no limit")
	case r.Hard != -1 && (r.Soft == -1 || r.Soft > r.Hard):
		c.add(field, fmt.Sprintf("the soft limit %s is more than the hard limit %d", rlimitText(r.Soft), r.Hard),
			"raise the hard limit or lower the soft one")
	case name == "nproc" && s.Limits.Processes != 0:
		c.add(field, "the limit on processes is the same limit", "remove one of the two")
	case name == "cpu" && s.Limits.CPUTime != 0:
		c.add(field, "the limit on processor time is the same limit where there is no control group",
			"remove one of the two")
	}
}

func rlimitText(v int64) string {
	if v == -1 {
		return "unlimited"
	}
	return strconv.FormatInt(v, 10)
}

// RlimitNumbers returns the numbers of the sixteen resources of getrlimit(2) by their lower-case names.
func RlimitNumbers() map[string]int {
	return map[string]int{
		"as": unix.RLIMIT_AS, "core": unix.RLIMIT_CORE, "cpu": unix.RLIMIT_CPU, "data": unix.RLIMIT_DATA,
		"fsize": unix.RLIMIT_FSIZE, "locks": unix.RLIMIT_LOCKS, "memlock": unix.RLIMIT_MEMLOCK,
		"msgqueue": unix.RLIMIT_MSGQUEUE, "nice": unix.RLIMIT_NICE, "nofile": unix.RLIMIT_NOFILE,
		"nproc": unix.RLIMIT_NPROC, "rss": unix.RLIMIT_RSS, "rtprio": unix.RLIMIT_RTPRIO,
		"rttime": unix.RLIMIT_RTTIME, "sigpending": unix.RLIMIT_SIGPENDING, "stack": unix.RLIMIT_STACK,
	}
}
