package spec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"brig/internal/words"
)

// checkRlimits checks each resource limit, and that no other limit is the same one.
func checkRlimits(l *Limits) (c problems) {
	for _, name := range slices.Sorted(maps.Keys(l.Rlimits)) {
		c = append(c, checkRlimit(l, name, l.Rlimits[name])...)
	}
	return c
}

func checkRlimit(l *Limits, name string, r Rlimit) (c problems) {
	field := "limits.rlimits." + name
	if !slices.Contains(RlimitNames(), name) {
		c.add("limits.rlimits", words.Quote(name)+" is not a resource of getrlimit(2)", words.DidYouMean(name, RlimitNames()))
		return c
	}
	switch {
	case r.Soft < -1 || r.Hard < -1:
		c.add(field, fmt.Sprintf("%d is negative", min(r.Soft, r.Hard)), "write -1 for no limit")
	case r.Hard != -1 && (r.Soft == -1 || r.Soft > r.Hard):
		c.add(field, fmt.Sprintf("the soft limit %s is more than the hard limit %d", rlimitText(r.Soft), r.Hard),
			"raise the hard limit or lower the soft one")
	case name == "nproc" && l.Processes != 0:
		c.add(field, "the limit on processes is the same limit", "remove one of the two")
	case name == "cpu" && l.CPUTime != 0:
		c.add(field, "the limit on processor time is the same limit where there is no control group",
			"remove one of the two")
	}
	return c
}

func rlimitText(v int64) string {
	if v == -1 {
		return "unlimited"
	}
	return strconv.FormatInt(v, 10)
}

// RlimitNames returns the sixteen resources of getrlimit(2), sorted, by the names of ulimit and docker.
func RlimitNames() []string { return slices.Sorted(maps.Keys(RlimitNumbers())) }

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
