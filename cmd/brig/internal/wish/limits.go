package wish

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// limits applies the flags of limits.
type limits struct{ *sheet }

// usual returns the flags of the common limits.
func (l limits) usual() []cli.Flag {
	rows := rowsOf(true)
	slices.SortFunc(rows, func(x, y *spec.Limit) int { return x.Usual - y.Usual })
	return cli.InGroup("Limits", append(l.flagsOf(rows), cli.Flag{Name: "scratch", Args: "SIZE", Path: "scratch",
		Set: func(v []string) error { return setSize(&l.spec.Scratch, v[0], "--scratch 2g") },
		Help: "let /tmp, /work, /output, the home and /dev/shm hold SIZE together, where no other flag " +
			"mounts something"}))
}

// group returns the flags of the other limits of the jail's control group, and of its place.
func (l limits) group(scope func([]string) error) []cli.Flag {
	return cli.InGroup("Control group", append(l.flagsOf(rowsOf(false)), []cli.Flag{
		{Name: "cgroup-parent", Args: "PATH", Path: "cgroup_parent", Set: cli.Text(&l.spec.CgroupParent, "/batch.slice"),
			Help: "make the group below this one, named as in /proc/self/cgroup, instead of brig's own"},
		{Name: "systemd-scope", Set: scope,
			Help: "of run only: ask systemd for a scope to make the group in"},
	}...))
}

// rowsOf returns the rows of the common limits, or of the others.
func rowsOf(usual bool) (rows []*spec.Limit) {
	for r := range spec.LimitTable() {
		if (r.Usual != 0) == usual {
			row := r // the others need no memory
			rows = append(rows, &row)
		}
	}
	return rows
}

func (l limits) flagsOf(rows []*spec.Limit) (list []cli.Flag) {
	for _, r := range rows {
		list = append(list, l.limit(r)...)
	}
	return list
}

// limit returns the flag of a limit, or the flags of one whose value has several parts.
func (l limits) limit(r *spec.Limit) []cli.Flag {
	switch r.Name {
	case "rlimits":
		return []cli.Flag{{Name: "ulimit", Args: "NAME=SOFT[:HARD]", Many: true, Words: ulimitWords(), Set: l.setUlimit,
			Help: "a limit of getrlimit(2), such as nofile=1024:2048 or core=unlimited"}}
	case "io":
		return l.ioFlags()
	case "hugetlb":
		return []cli.Flag{{Name: "hugetlb", Args: "SIZE=LIMIT", Many: true, Words: []string{"64KB=", "2MB=", "1GB="},
			Set:  l.setHugeTLB,
			Help: "the memory in huge pages of SIZE, such as 2MB=64m"}}
	case "cgroup":
		return []cli.Flag{{Name: "cgroup", Args: "FILE=VALUE", Many: true, Set: l.setCgroup,
			Help: "write VALUE to any other file of the group, such as memory.oom.group=0"}}
	}
	return []cli.Flag{{Name: r.Flag, Short: r.Short, Args: r.Value, Path: "limits." + r.Name,
		Help: r.About().In(limitFlag), Set: l.setLimit(r)}}
}

// limitFlag is the dialect of the texts about limits.
func limitFlag(r words.Ref) (string, bool) {
	for l := range spec.LimitTable() {
		if "limits."+l.Name == r.Field {
			return "--" + l.Flag, true
		}
	}
	return "", false
}

// setLimit returns the reader of a limit's flag, by the type of the limit's field.
func (l limits) setLimit(r *spec.Limit) func([]string) error {
	return func(v []string) (err error) {
		switch to := r.Field(&l.spec.Limits).(type) {
		case *nsjail.Duration:
			*to, err = limitTime(r, v[0])
		case *nsjail.Bytes:
			*to, err = limitSize(r, v[0])
		case *int64:
			// docker takes 0, too, for no limit, which in the Spec means the default
			err = cli.Whole(to, v[0], -1, math.MaxInt64, "is not a number of processes; write it as in 64, or 0 for no limit")
			*to = cmp.Or(*to, -1)
		case *int:
			// not 0, which in the Spec means the default
			err = cli.Whole(to, v[0], 1, 10000, "is not a weight; write 1 to 10000, where 100 is the kernel's default")
		case *float64:
			*to, err = processors(v[0])
		case *string:
			err = cli.Text(to, r.Example)(v)
		case *bool:
			*to = true
		}
		return err
	}
}

func limitTime(r *spec.Limit, s string) (nsjail.Duration, error) {
	d, err := spec.ParseDuration(s)
	switch {
	case err != nil:
		return 0, err
	case d <= 0 && r.Zero != "":
		return 0, fmt.Errorf("%s %s; write it as in %s, or leave it out", words.Quote(s), r.Zero, r.Example)
	case d < 0:
		return 0, fmt.Errorf("%s is negative; write 0 for no limit", words.Quote(s))
	case d == 0 && r.Default: // the value 0 in the Spec means the default
		d = -nsjail.Duration(time.Second)
	}
	return d, nil
}

func limitSize(r *spec.Limit, s string) (nsjail.Bytes, error) {
	if s == "-1" && r.AnyOf { // docker's form
		return -1, nil
	}
	size, err := spec.ParseBytes(s)
	if err == nil && size == 0 && r.Zero != "" {
		return 0, errors.New(r.Zero + "; write a size, as in " + r.Example + ", or leave it out")
	}
	return size, err
}

func processors(s string) (float64, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n > 0) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("%s is not a number of processors; write it as in 0.5 or 2", words.Quote(s))
	}
	return n, nil
}
