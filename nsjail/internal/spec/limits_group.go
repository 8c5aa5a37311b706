package spec

import (
	"strings"
	"time"

	"brig/cgroup"
)

// Group returns the limits for package cgroup, except those that depend on the machine.
func (l *Limits) Group() *cgroup.Limits {
	out := &cgroup.Limits{}
	for i := range limitRows {
		if set := limitRows[i].Group; set != nil {
			set(l, out)
		}
	}
	return out
}

// swap returns the limit on swap, without memory.
func (l *Limits) swap() cgroup.Swap {
	switch {
	case l.MemorySwap < 0:
		return cgroup.Swap{Set: true, Max: -1}
	case l.MemorySwap > 0:
		return cgroup.Swap{Set: true, Max: int64(l.MemorySwap - l.Memory)}
	}
	return cgroup.Swap{Set: l.Memory > 0, Implied: l.Memory > 0}
}

// quota returns the processor time per period.
func (l *Limits) quota() time.Duration {
	_, quota := l.bandwidth()
	return time.Duration(quota) * time.Microsecond
}

// rates returns the limits of block devices, without the device numbers.
func (l *Limits) rates() (list []cgroup.Device) {
	for _, io := range l.IO {
		list = append(list, cgroup.Device{ReadBps: int64(io.ReadBps), WriteBps: int64(io.WriteBps),
			ReadIOPS: io.ReadIOPS, WriteIOPS: io.WriteIOPS})
	}
	return list
}

func (l *Limits) hugePages() map[string]int64 {
	limits := map[string]int64{}
	for size, n := range l.HugeTLB {
		limits[size] = int64(n)
	}
	return limits
}

func (l *Limits) files() (list []cgroup.File) {
	for _, f := range l.Cgroup {
		name, value, _ := strings.Cut(f, "=")
		list = append(list, cgroup.File{Name: name, Value: value})
	}
	return list
}
