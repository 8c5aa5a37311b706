package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// limitFlags returns the flags of the common limits.
func (b *builder) limitFlags() []cli.Flag {
	rows := slices.DeleteFunc(spec.LimitTable(), func(r spec.Limit) bool { return r.Usual == 0 })
	slices.SortFunc(rows, func(a, b spec.Limit) int { return a.Usual - b.Usual })
	return cli.InGroup("Limits", append(b.flagsOf(rows), cli.Flag{Name: "scratch", Args: "SIZE", Path: "scratch",
		Set: func(v []string) error { return setSize(&b.inv.spec.Scratch, v[0], "--scratch 2g") },
		Help: "let /tmp, /work, /output, the home and /dev/shm hold SIZE together, where no other flag " +
			"mounts something"}))
}

// groupFlags returns the flags of the other limits of the jail's control group, and of its place.
func (b *builder) groupFlags() []cli.Flag {
	rows := slices.DeleteFunc(spec.LimitTable(), func(r spec.Limit) bool { return r.Usual != 0 })
	return cli.InGroup("Control group", append(b.flagsOf(rows), []cli.Flag{
		{Name: "cgroup-parent", Args: "PATH", Path: "cgroup_parent", Set: cli.Text(&b.inv.spec.CgroupParent, "/batch.slice"),
			Help: "make the group below this one, named as in /proc/self/cgroup, instead of brig's own"},
		{Name: "systemd-scope", Set: b.setSystemdScope,
			Help: "of run only: ask systemd for a scope to make the group in"},
	}...))
}

func (b *builder) flagsOf(rows []spec.Limit) (list []cli.Flag) {
	for i := range rows {
		list = append(list, b.limit(&rows[i])...)
	}
	return list
}

// limit returns the flag of a limit, or the flags of one whose value has several parts.
func (b *builder) limit(r *spec.Limit) []cli.Flag {
	switch r.Name {
	case "rlimits":
		return []cli.Flag{{Name: "ulimit", Args: "NAME=SOFT[:HARD]", Many: true, Words: ulimitWords(), Set: b.setUlimit,
			Help: "a limit of getrlimit(2), such as nofile=1024:2048 or core=unlimited"}}
	case "io":
		return b.ioFlags()
	case "hugetlb":
		return []cli.Flag{{Name: "hugetlb", Args: "SIZE=LIMIT", Many: true, Words: []string{"64KB=", "2MB=", "1GB="},
			Set:  b.setHugeTLB,
			Help: "the memory in huge pages of SIZE, such as 2MB=64m"}}
	case "cgroup":
		return []cli.Flag{{Name: "cgroup", Args: "FILE=VALUE", Many: true, Set: b.setCgroup,
			Help: "write VALUE to any other file of the group, such as memory.oom.group=0"}}
	}
	return []cli.Flag{{Name: r.Flag, Short: r.Short, Args: r.Value, Path: "limits." + r.Name,
		Help: r.About().In(limitFlag), Set: b.setLimit(r)}}
}

// limitFlag is the dialect of the texts about limits.
func limitFlag(r words.Ref) (string, bool) {
	for _, l := range spec.LimitTable() {
		if "limits."+l.Name == r.Field {
			return "--" + l.Flag, true
		}
	}
	return "", false
}

func (b *builder) ioFlags() []cli.Flag {
	return []cli.Flag{
		{Name: "device-read-bps", Args: "PATH:RATE", Many: true, Files: true,
			Set:  b.ioFlag("read_bps", "10m", func(l *spec.IOLimit) any { return &l.ReadBps }),
			Help: "bytes a second, such as /dev/sda:10m; any other PATH stands for the device that holds it"},
		{Name: "device-write-bps", Args: "PATH:RATE", Many: true, Files: true,
			Set:  b.ioFlag("write_bps", "10m", func(l *spec.IOLimit) any { return &l.WriteBps }),
			Help: "the same for writing"},
		{Name: "device-read-iops", Args: "PATH:RATE", Many: true, Files: true,
			Set:  b.ioFlag("read_iops", "1000", func(l *spec.IOLimit) any { return &l.ReadIOPS }),
			Help: "read operations a second"},
		{Name: "device-write-iops", Args: "PATH:RATE", Many: true, Files: true,
			Set:  b.ioFlag("write_iops", "1000", func(l *spec.IOLimit) any { return &l.WriteIOPS }),
			Help: "write operations a second"},
	}
}

func ulimitWords() []string {
	names := spec.RlimitNames()
	for i := range names {
		names[i] += "="
	}
	return names
}

// setLimit returns the reader of a limit's flag, by the type of the limit's field.
func (b *builder) setLimit(r *spec.Limit) func([]string) error {
	return func(v []string) (err error) {
		switch to := r.Field(&b.inv.spec.Limits).(type) {
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

func (b *builder) setUlimit(v []string) error {
	name, value, ok := strings.Cut(v[0], "=")
	if !ok || name == "" {
		return fmt.Errorf("%s has no limit; write NAME=SOFT[:HARD], as in nofile=1024:2048", words.Quote(v[0]))
	}
	known := spec.RlimitNames()
	if !slices.Contains(known, name) {
		return fmt.Errorf("%s is not a resource of getrlimit(2); %s", words.Quote(name), words.DidYouMean(name, known))
	}
	path := "limits.rlimits." + name
	if b.inv.origin[path] != "" {
		return fmt.Errorf("%s is given twice; keep one", name)
	}
	softText, hardText, both := strings.Cut(value, ":")
	if !both {
		hardText = softText
	}
	soft, err := ulimitValue(softText)
	hard, hardErr := ulimitValue(hardText)
	if b.inv.spec.Limits.Rlimits == nil {
		b.inv.spec.Limits.Rlimits = map[string]spec.Rlimit{}
	}
	b.inv.spec.Limits.Rlimits[name] = spec.Rlimit{Soft: soft, Hard: hard}
	b.inv.origin[path] = b.flag + " " + name // there may be several, each with its own limits
	return cmp.Or(err, hardErr)
}

func ulimitValue(s string) (v int64, err error) {
	if s == "unlimited" || s == "-1" {
		return -1, nil
	}
	return v, cli.Whole(&v, s, 0, math.MaxInt64, "is not a limit; write a whole number or unlimited")
}

func (b *builder) setHugeTLB(v []string) error {
	size, limit, ok := strings.Cut(v[0], "=")
	if !ok || size == "" {
		return fmt.Errorf("%s has no limit; write SIZE=LIMIT, as in 2MB=64m", words.Quote(v[0]))
	}
	n, err := spec.ParseBytes(limit)
	if err != nil {
		return err
	}
	path := "limits.hugetlb." + size
	if b.inv.origin[path] != "" {
		return fmt.Errorf("%s is given twice; keep one", words.Quote(size))
	}
	if b.inv.spec.Limits.HugeTLB == nil {
		b.inv.spec.Limits.HugeTLB = map[string]nsjail.Bytes{}
	}
	b.inv.spec.Limits.HugeTLB[size] = n
	b.inv.origin[path], b.inv.origin["limits.hugetlb"] = b.flag, b.flag
	return nil
}

func (b *builder) setCgroup(v []string) error {
	b.inv.origin["limits.cgroup"] = b.flag // the error for a missing group has this path
	b.add("limits.cgroup", &b.inv.spec.Limits.Cgroup, v[0])
	return nil
}

func (b *builder) setSystemdScope(_ []string) error {
	if !slices.Contains([]string{"run", "learn", "verify"}, b.inv.command) {
		return errors.New("only brig run, learn and verify make a scope; leave it out")
	}
	b.inv.systemdScope = true
	return nil
}

// ioFlag returns the setter of --device-read-bps and similar flags: of returns the field. Those with the same path
// share one entry, as the kernel has one line for each device.
func (b *builder) ioFlag(rate, example string, of func(*spec.IOLimit) any) func([]string) error {
	return func(v []string) (err error) {
		at := strings.LastIndexByte(v[0], ':')
		if at < 1 {
			return fmt.Errorf("%s has no rate; write PATH:RATE, as in /dev/sda:%s", words.Quote(v[0]), example)
		}
		path, text, zero := v[0][:at], v[0][at+1:], false
		i := b.device(path)
		switch to := of(&b.inv.spec.Limits.IO[i]).(type) {
		case *nsjail.Bytes:
			*to, err = spec.ParseBytes(text)
			zero = *to == 0
		case *int64:
			err = cli.Whole(to, text, 0, math.MaxInt64, "is not a number of operations a second; write it as in /dev/sda:1000")
			zero = *to == 0
		}
		field := place("limits.io", i) + "." + rate
		switch {
		case err != nil:
			return err
		case zero:
			return fmt.Errorf("a rate of 0 would stop everything; write %s, or leave the flag out for no limit", example)
		case b.inv.origin[field] != "":
			return fmt.Errorf("%s is given twice; keep one", words.Quote(path))
		}
		b.inv.origin[field], b.inv.origin["limits.io"] = b.flag, b.flag
		return nil
	}
}

// device returns the index of a path's entry, which it adds if missing.
func (b *builder) device(path string) int {
	list := b.inv.spec.Limits.IO
	if i := slices.IndexFunc(list, func(l spec.IOLimit) bool { return l.Path == path }); i >= 0 {
		return i
	}
	b.inv.origin[place("limits.io", len(list))] = b.flag
	b.inv.spec.Limits.IO = append(list, spec.IOLimit{Path: path})
	return len(list)
}
