package wish

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

func ulimitWords() []string {
	names := spec.RlimitNames()
	for i := range names {
		names[i] += "="
	}
	return names
}

func (l limits) setUlimit(v []string) error {
	name, value, ok := strings.Cut(v[0], "=")
	if !ok || name == "" {
		return fmt.Errorf("%s has no limit; write NAME=SOFT[:HARD], as in nofile=1024:2048", words.Quote(v[0]))
	}
	known := spec.RlimitNames()
	if !slices.Contains(known, name) {
		return fmt.Errorf("%s is not a resource of getrlimit(2); %s", words.Quote(name), words.DidYouMean(name, known))
	}
	path := "limits.rlimits." + name
	if l.from.Of(path) != "" {
		return fmt.Errorf("%s is given twice; keep one", name)
	}
	softText, hardText, both := strings.Cut(value, ":")
	if !both {
		hardText = softText
	}
	soft, err := ulimitValue(softText)
	hard, hardErr := ulimitValue(hardText)
	if l.spec.Limits.Rlimits == nil {
		l.spec.Limits.Rlimits = map[string]spec.Rlimit{}
	}
	l.spec.Limits.Rlimits[name] = spec.Rlimit{Soft: soft, Hard: hard}
	l.from.Set(path, l.flag+" "+name) // there may be several, each with its own limits
	return cmp.Or(err, hardErr)
}

func ulimitValue(s string) (v int64, err error) {
	if s == "unlimited" || s == "-1" {
		return -1, nil
	}
	return v, cli.Whole(&v, s, 0, math.MaxInt64, "is not a limit; write a whole number or unlimited")
}

func (l limits) setHugeTLB(v []string) error {
	size, limit, ok := strings.Cut(v[0], "=")
	if !ok || size == "" {
		return fmt.Errorf("%s has no limit; write SIZE=LIMIT, as in 2MB=64m", words.Quote(v[0]))
	}
	n, err := spec.ParseBytes(limit)
	if err != nil {
		return err
	}
	path := "limits.hugetlb." + size
	if l.from.Of(path) != "" {
		return fmt.Errorf("%s is given twice; keep one", words.Quote(size))
	}
	if l.spec.Limits.HugeTLB == nil {
		l.spec.Limits.HugeTLB = map[string]nsjail.Bytes{}
	}
	l.spec.Limits.HugeTLB[size] = n
	l.note(path)
	l.note("limits.hugetlb")
	return nil
}

func (l limits) setCgroup(v []string) error {
	l.note("limits.cgroup") // the error for a missing group has this path
	l.add("limits.cgroup", &l.spec.Limits.Cgroup, v[0])
	return nil
}
