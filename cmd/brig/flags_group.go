package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"brig/internal/words"
	"brig/nsjail"
)

func (b *builder) setHugeTLB(v []string) error {
	size, limit, ok := strings.Cut(v[0], "=")
	if !ok || size == "" {
		return fmt.Errorf("%s has no limit; write SIZE=LIMIT, as in 2MB=64m", words.Quote(v[0]))
	}
	n, err := nsjail.ParseBytes(limit)
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
func (b *builder) ioFlag(rate, example string, of func(*nsjail.IOLimit) any) func([]string) error {
	return func(v []string) (err error) {
		at := strings.LastIndexByte(v[0], ':')
		if at < 1 {
			return fmt.Errorf("%s has no rate; write PATH:RATE, as in /dev/sda:%s", words.Quote(v[0]), example)
		}
		path, text, zero := v[0][:at], v[0][at+1:], false
		i := b.device(path)
		switch to := of(&b.inv.spec.Limits.IO[i]).(type) {
		case *nsjail.Bytes:
			*to, err = nsjail.ParseBytes(text)
			zero = *to == 0
		case *int64:
			err = whole(to, text, 0, math.MaxInt64, "is not a number of operations a second; write it as in /dev/sda:1000")
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
	if i := slices.IndexFunc(list, func(l nsjail.IOLimit) bool { return l.Path == path }); i >= 0 {
		return i
	}
	b.inv.origin[place("limits.io", len(list))] = b.flag
	b.inv.spec.Limits.IO = append(list, nsjail.IOLimit{Path: path})
	return len(list)
}
