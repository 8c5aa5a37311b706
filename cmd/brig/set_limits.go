package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"brig/nsjail"
)

func setTimeout(b *builder, v []string) error {
	d, err := duration(v[0])
	if err != nil {
		return err
	}
	if d == 0 {
		d = -nsjail.Duration(time.Second) // the Spec's word for no limit: 0 there is the default
	}
	b.inv.spec.Limits.Wall = d
	return nil
}

func setIdle(b *builder, v []string) (err error) {
	b.inv.spec.Limits.Idle, err = duration(v[0])
	return err
}

func setGrace(b *builder, v []string) (err error) {
	b.inv.spec.Limits.Grace, err = duration(v[0])
	return err
}

func setCPUTime(b *builder, v []string) (err error) {
	b.inv.spec.Limits.CPUTime, err = duration(v[0])
	return err
}

// duration reads a time span that is not negative.
func duration(s string) (nsjail.Duration, error) {
	d, err := nsjail.ParseDuration(s)
	if err == nil && d < 0 {
		return 0, fmt.Errorf("%s is negative; write 0 for no limit", show(s))
	}
	return d, err
}

func setProcesses(b *builder, v []string) error {
	n, err := strconv.ParseInt(v[0], 10, 64)
	if err != nil || n < -1 {
		return fmt.Errorf("%s is not a number of processes; write it as in 64, or 0 for no limit", show(v[0]))
	}
	if n == 0 { // docker's other word for no limit; 0 in the Spec is the default
		n = -1
	}
	b.inv.spec.Limits.Processes = n
	return nil
}

func setOutput(b *builder, v []string) (err error) {
	b.inv.spec.Limits.Output, err = nsjail.ParseBytes(v[0])
	return err
}

func setOutputLimit(b *builder, v []string) (err error) {
	b.inv.spec.Limits.OutputLimit, err = nsjail.ParseBytes(v[0])
	return err
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
