package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"brig/nsjail"
)

func setMemory(b *builder, v []string) (err error) {
	b.inv.spec.Limits.Memory, err = positiveSize(v[0])
	return err
}

func setMemorySwap(b *builder, v []string) (err error) {
	if v[0] == "-1" { // docker's word for any amount of swap
		b.inv.spec.Limits.MemorySwap = -1
		return nil
	}
	b.inv.spec.Limits.MemorySwap, err = positiveSize(v[0])
	return err
}

func setMemoryHigh(b *builder, v []string) (err error) {
	b.inv.spec.Limits.MemoryHigh, err = positiveSize(v[0])
	return err
}

func setMemoryLow(b *builder, v []string) (err error) {
	b.inv.spec.Limits.MemoryLow, err = protectedSize(v[0])
	return err
}

func setMemoryMin(b *builder, v []string) (err error) {
	b.inv.spec.Limits.MemoryMin, err = protectedSize(v[0])
	return err
}

func setNoOOMGroup(b *builder, _ []string) error {
	b.inv.spec.Limits.NoOOMGroup = true
	return nil
}

func positiveSize(s string) (nsjail.Bytes, error) {
	size, err := nsjail.ParseBytes(s)
	if err == nil && size == 0 {
		return 0, errors.New("a limit of 0 leaves no room; write a size, as in 512m, or leave it out")
	}
	return size, err
}

func protectedSize(s string) (nsjail.Bytes, error) {
	size, err := nsjail.ParseBytes(s)
	if err == nil && size == 0 {
		return 0, errors.New("a size of 0 protects nothing; write a size, as in 512m, or leave it out")
	}
	return size, err
}

func setCPUs(b *builder, v []string) error {
	n, err := strconv.ParseFloat(v[0], 64)
	if err != nil || !(n > 0) || math.IsInf(n, 0) {
		return fmt.Errorf("%s is not a number of processors; write it as in 0.5 or 2", show(v[0]))
	}
	b.inv.spec.Limits.CPUs = n
	return nil
}

func setCPUPeriod(b *builder, v []string) (err error) {
	b.inv.spec.Limits.CPUPeriod, err = positiveDuration(v[0], "50ms")
	return err
}

func setCPUBurst(b *builder, v []string) (err error) {
	b.inv.spec.Limits.CPUBurst, err = positiveDuration(v[0], "20ms")
	return err
}

// positiveDuration reads a time span for which 0 is no word.
func positiveDuration(s, example string) (nsjail.Duration, error) {
	d, err := nsjail.ParseDuration(s)
	if err == nil && d <= 0 {
		return 0, fmt.Errorf("%s is not a time span; write it as in %s, or leave it out", show(s), example)
	}
	return d, err
}

func setCPUWeight(b *builder, v []string) (err error) {
	b.inv.spec.Limits.CPUWeight, err = weight(v[0])
	return err
}

func setIOWeight(b *builder, v []string) (err error) {
	b.inv.spec.Limits.IOWeight, err = weight(v[0])
	return err
}

// weight reads a share. 0 would be the Spec's word for the default, which nobody says out loud.
func weight(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 10000 {
		return 0, fmt.Errorf("%s is not a weight; write 1 to 10000, where 100 is the kernel's default", show(s))
	}
	return n, nil
}

func setCPUSet(b *builder, v []string) error {
	return notEmpty(&b.inv.spec.Limits.CPUSet, v[0], "0-3")
}

func setCPUSetMems(b *builder, v []string) error {
	return notEmpty(&b.inv.spec.Limits.CPUSetMems, v[0], "0")
}

func setHugeTLB(b *builder, v []string) error {
	size, limit, ok := strings.Cut(v[0], "=")
	if !ok || size == "" {
		return fmt.Errorf("%s has no limit; write SIZE=LIMIT, as in 2MB=64m", show(v[0]))
	}
	n, err := nsjail.ParseBytes(limit)
	if err != nil {
		return err
	}
	path := "limits.hugetlb." + size
	if b.inv.origin[path] != "" {
		return fmt.Errorf("%s is given twice; keep one", show(size))
	}
	if b.inv.spec.Limits.HugeTLB == nil {
		b.inv.spec.Limits.HugeTLB = map[string]nsjail.Bytes{}
	}
	b.inv.spec.Limits.HugeTLB[size] = n
	b.inv.origin[path], b.inv.origin["limits.hugetlb"] = b.flag, b.flag
	return nil
}

func setCgroup(b *builder, v []string) error {
	b.inv.origin["limits.cgroup"] = b.flag // the machine says of all together that there is no group
	b.add("limits.cgroup", &b.inv.spec.Limits.Cgroup, v[0])
	return nil
}

func setCgroupParent(b *builder, v []string) error {
	return notEmpty(&b.inv.spec.CgroupParent, v[0], "/batch.slice")
}

func setSystemdScope(b *builder, _ []string) error {
	if b.inv.command != "run" {
		return errors.New("only brig run makes a scope; leave it out")
	}
	b.inv.systemdScope = true
	return nil
}
