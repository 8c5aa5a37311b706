package main

import (
	"errors"
	"fmt"
	"strings"

	"brig/nsjail"
)

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
