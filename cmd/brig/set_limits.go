package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"brig/nsjail"
)

// setLimit returns the reader of a limit's flag, by the type of the limit's field.
func setLimit(r *nsjail.Limit) func(*builder, []string) error {
	return func(b *builder, v []string) (err error) {
		switch to := r.Field(&b.inv.spec.Limits).(type) {
		case *nsjail.Duration:
			*to, err = limitTime(r, v[0])
		case *nsjail.Bytes:
			*to, err = limitSize(r, v[0])
		case *int64:
			*to, err = processes(v[0])
		case *int:
			*to, err = weight(v[0])
		case *float64:
			*to, err = processors(v[0])
		case *string:
			err = notEmpty(to, v[0], r.Example)
		case *bool:
			*to = true
		}
		return err
	}
}

func limitTime(r *nsjail.Limit, s string) (nsjail.Duration, error) {
	d, err := nsjail.ParseDuration(s)
	switch {
	case err != nil:
		return 0, err
	case d <= 0 && r.Zero != "":
		return 0, fmt.Errorf("%s %s; write it as in %s, or leave it out", show(s), r.Zero, r.Example)
	case d < 0:
		return 0, fmt.Errorf("%s is negative; write 0 for no limit", show(s))
	case d == 0 && r.Default: // 0 in the Spec is the default
		d = -nsjail.Duration(time.Second)
	}
	return d, nil
}

func limitSize(r *nsjail.Limit, s string) (nsjail.Bytes, error) {
	if s == "-1" && r.AnyOf { // as docker writes it
		return -1, nil
	}
	size, err := nsjail.ParseBytes(s)
	if err == nil && size == 0 && r.Zero != "" {
		return 0, errors.New(r.Zero + "; write a size, as in " + r.Example + ", or leave it out")
	}
	return size, err
}

// processes reads a number of processes. docker also writes 0 for no limit, which in the Spec is the default.
func processes(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < -1 {
		return 0, fmt.Errorf("%s is not a number of processes; write it as in 64, or 0 for no limit", show(s))
	}
	return cmp.Or(n, -1), nil
}

// weight reads a share. 0 in the Spec is the default.
func weight(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 10000 {
		return 0, fmt.Errorf("%s is not a weight; write 1 to 10000, where 100 is the kernel's default", show(s))
	}
	return n, nil
}

func processors(s string) (float64, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n > 0) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("%s is not a number of processors; write it as in 0.5 or 2", show(s))
	}
	return n, nil
}

func setUlimit(b *builder, v []string) error {
	name, value, ok := strings.Cut(v[0], "=")
	if !ok || name == "" {
		return fmt.Errorf("%s has no limit; write NAME=SOFT[:HARD], as in nofile=1024:2048", show(v[0]))
	}
	known := nsjail.RlimitNames()
	if !contains(known, name) {
		fix := "write one of " + strings.Join(known, ", ")
		if near := nsjail.Nearest(name, known); near != "" {
			fix = "did you mean " + near + "?"
		}
		return fmt.Errorf("%s is not a resource of getrlimit(2); %s", show(name), fix)
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
	if err != nil {
		return err
	}
	hard, err := ulimitValue(hardText)
	if err != nil {
		return err
	}
	if b.inv.spec.Limits.Rlimits == nil {
		b.inv.spec.Limits.Rlimits = map[string]nsjail.Rlimit{}
	}
	b.inv.spec.Limits.Rlimits[name] = nsjail.Rlimit{Soft: soft, Hard: hard}
	b.inv.origin[path] = b.flag + " " + name // several are common, and each has limits of its own
	return nil
}

func ulimitValue(s string) (int64, error) {
	if s == "unlimited" || s == "-1" {
		return -1, nil
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("%s is not a limit; write a whole number or unlimited", show(s))
	}
	return v, nil
}

func contains(list []string, s string) bool {
	for _, have := range list {
		if have == s {
			return true
		}
	}
	return false
}
