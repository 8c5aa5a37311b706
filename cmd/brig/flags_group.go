package main

import (
	"errors"
	"fmt"
	"strconv"
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
	if b.inv.command != "run" {
		return errors.New("only brig run makes a scope; leave it out")
	}
	b.inv.systemdScope = true
	return nil
}

// ioFlag returns the setter of --device-read-bps and similar flags. Those with the same path share one entry, as the
// kernel has one line for each device.
func (b *builder) ioFlag(rate string) func([]string) error {
	return func(v []string) error {
		at := strings.LastIndexByte(v[0], ':')
		if at < 1 {
			return fmt.Errorf("%s has no rate; write PATH:RATE, as in /dev/sda:%s", words.Quote(v[0]), exampleRate(rate))
		}
		n, err := parseRate(rate, v[0][at+1:])
		if err != nil {
			return err
		}
		i := b.device(v[0][:at])
		field := place("limits.io", i) + "." + rate
		if b.inv.origin[field] != "" {
			return fmt.Errorf("%s is given twice; keep one", words.Quote(v[0][:at]))
		}
		b.inv.origin[field], b.inv.origin["limits.io"] = b.flag, b.flag
		switch d := &b.inv.spec.Limits.IO[i]; rate {
		case "read_bps":
			d.ReadBps = nsjail.Bytes(n)
		case "write_bps":
			d.WriteBps = nsjail.Bytes(n)
		case "read_iops":
			d.ReadIOPS = n
		case "write_iops":
			d.WriteIOPS = n
		}
		return nil
	}
}

// device returns the index of a path's entry, which it adds if missing.
func (b *builder) device(path string) int {
	list := b.inv.spec.Limits.IO
	for i := range list {
		if list[i].Path == path {
			return i
		}
	}
	b.inv.origin[place("limits.io", len(list))] = b.flag
	b.inv.spec.Limits.IO = append(list, nsjail.IOLimit{Path: path})
	return len(list)
}

func exampleRate(rate string) string {
	if strings.HasSuffix(rate, "_bps") {
		return "10m"
	}
	return "1000"
}

// parseRate parses bytes, or operations, a second.
func parseRate(rate, s string) (int64, error) {
	var n int64
	var err error
	if strings.HasSuffix(rate, "_bps") {
		var size nsjail.Bytes
		size, err = nsjail.ParseBytes(s)
		n = int64(size)
	} else if n, err = strconv.ParseInt(s, 10, 64); err != nil || n < 0 {
		err = fmt.Errorf("%s is not a number of operations a second; write it as in /dev/sda:1000", words.Quote(s))
	}
	if err == nil && n == 0 {
		err = errors.New("a rate of 0 would stop everything; write " + exampleRate(rate) +
			", or leave the flag out for no limit")
	}
	return n, err
}
