package cgroup

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"
)

// check is how a value that is read back is held against what was written.
type check int

const (
	sameText  check = iota
	sameBytes       // the same number, rounded down to pages, or max
	sameList        // the same set of processors or nodes
	sameWords       // a line that begins with the device and has every word
	anyValue        // whatever the kernel makes of it
)

// setting is a file of a group and its value. The first of names that the kernel has is taken.
type setting struct {
	names []string
	value string
	check check
}

func set(name, value string) setting              { return setting{[]string{name}, value, sameText} }
func size(name string, n int64) setting           { return setting{[]string{name}, number(n), sameBytes} }
func checked(name, value string, c check) setting { return setting{[]string{name}, value, c} }

// knob is a mechanism and the files that are it in both versions.
type knob struct {
	mechanism  string
	controller string // of version 2
	v2         []setting
	legacy     string // the controller of version 1
	v1         []setting
	lacking    string // why version 1 has none
	within     string // the file of another knob that holds it in version 2
	implied    bool
}

// files is the mechanism of Limits.Files.
const files = "cgroup_file"

// number writes -1 as the kernel's "max".
func number(n int64) string {
	if n < 0 {
		return "max"
	}
	return strconv.FormatInt(n, 10)
}

// knobs are the limits as files, in the order in which they are to be written.
func (l *Limits) knobs() []knob {
	var list []knob
	add := func(asked bool, k knob) {
		if asked {
			if k.legacy == "" {
				k.legacy = k.controller
			}
			list = append(list, k)
		}
	}
	l.memoryKnobs(add)
	add(l.Processes > 0, knob{mechanism: "processes", controller: "pids", v2: []setting{set("pids.max", number(l.Processes))},
		v1: []setting{set("pids.max", number(l.Processes))}})
	l.cpuKnobs(add)
	l.ioKnobs(add)
	l.hugeKnobs(add)
	for _, f := range l.Files {
		c, _, _ := strings.Cut(f.Name, ".")
		k := knob{mechanism: files, controller: c, v2: []setting{checked(f.Name, f.Value, anyValue)}, v1: []setting{checked(f.Name, f.Value, anyValue)}}
		if c == "cgroup" || f.Name == "cpu.stat" || strings.HasSuffix(f.Name, ".pressure") { // core files: every group has them
			k.controller, k.v1, k.lacking = "", nil, "the file is one of version 2"
		}
		add(true, k)
	}
	return list
}

func (l *Limits) memoryKnobs(add func(bool, knob)) {
	memory := knob{mechanism: "memory", controller: "memory", v2: []setting{size("memory.max", l.Memory)}, v1: []setting{size("memory.limit_in_bytes", l.Memory)}}
	if !l.NoOOMGroup {
		memory.v2 = append(memory.v2, set("memory.oom.group", "1"))
	}
	add(l.Memory > 0, memory)
	// Version 1 counts the buffers of TCP and UDP apart from all other memory, and not at all before this file is written.
	add(l.Memory > 0, knob{mechanism: "memory_sockets", controller: "memory", within: "memory.max",
		v1: []setting{size("memory.kmem.tcp.limit_in_bytes", l.Memory)}, implied: true})
	total := l.Memory + l.Swap.Max
	if l.Swap.Max < 0 {
		total = -1
	}
	swap := knob{mechanism: "memory_swap", controller: "memory", v2: []setting{size("memory.swap.max", l.Swap.Max)},
		v1: []setting{size("memory.memsw.limit_in_bytes", total)}, implied: l.Swap.Implied}
	if total < 0 {
		swap.v1[0].value = "-1" // version 1 does not know the word
	}
	add(l.Swap.Set, swap)
	add(l.MemoryHigh > 0, knob{mechanism: "memory_high", controller: "memory", v2: []setting{size("memory.high", l.MemoryHigh)},
		lacking: "version 1 has no such limit"})
	add(l.MemoryLow > 0, knob{mechanism: "memory_low", controller: "memory", v2: []setting{size("memory.low", l.MemoryLow)},
		v1: []setting{size("memory.soft_limit_in_bytes", l.MemoryLow)}})
	add(l.MemoryMin > 0, knob{mechanism: "memory_min", controller: "memory", v2: []setting{size("memory.min", l.MemoryMin)},
		lacking: "version 1 has no such guarantee"})
}

// DefaultPeriod is the kernel's own period of cpu.max.
const DefaultPeriod = 100 * time.Millisecond

func (l *Limits) cpuKnobs(add func(bool, knob)) {
	period := l.CPUPeriod
	if period == 0 {
		period = DefaultPeriod
	}
	us := func(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }
	add(l.CPUQuota > 0, knob{mechanism: "cpus", controller: "cpu", v2: []setting{set("cpu.max", us(l.CPUQuota)+" "+us(period))},
		v1: []setting{set("cpu.cfs_period_us", us(period)), set("cpu.cfs_quota_us", us(l.CPUQuota))}})
	add(l.CPUBurst > 0, knob{mechanism: "cpu_burst", controller: "cpu", v2: []setting{set("cpu.max.burst", us(l.CPUBurst))},
		v1: []setting{set("cpu.cfs_burst_us", us(l.CPUBurst))}})
	// both scales say 100 and 1024 for "like everybody"
	add(l.CPUWeight > 0, knob{mechanism: "cpu_weight", controller: "cpu", v2: []setting{set("cpu.weight", strconv.Itoa(l.CPUWeight))},
		v1: []setting{set("cpu.shares", strconv.Itoa(max(2, l.CPUWeight*1024/100)))}})
	cpuset := knob{mechanism: "cpuset", controller: "cpuset"}
	if l.CPUs != "" {
		cpuset.v2 = append(cpuset.v2, checked("cpuset.cpus", l.CPUs, sameList))
	}
	if l.Mems != "" {
		cpuset.v2 = append(cpuset.v2, checked("cpuset.mems", l.Mems, sameList))
	}
	cpuset.v1 = cpuset.v2
	add(l.CPUs != "" || l.Mems != "", cpuset)
}

func (l *Limits) ioKnobs(add func(bool, knob)) {
	io := knob{mechanism: "io", controller: "io", legacy: "blkio"}
	for _, d := range l.IO {
		dev := fmt.Sprintf("%d:%d", d.Major, d.Minor)
		line := dev
		for _, w := range []struct {
			key, legacy string
			n           int64
		}{{"rbps", "read_bps", d.ReadBps}, {"wbps", "write_bps", d.WriteBps}, {"riops", "read_iops", d.ReadIOPS}, {"wiops", "write_iops", d.WriteIOPS}} {
			if w.n > 0 {
				line += " " + w.key + "=" + number(w.n)
				io.v1 = append(io.v1, checked("blkio.throttle."+w.legacy+"_device", dev+" "+number(w.n), sameWords))
			}
		}
		io.v2 = append(io.v2, checked("io.max", line, sameWords))
	}
	add(len(l.IO) > 0, io)
	w := strconv.Itoa(l.IOWeight)
	// BFQ's own file where that scheduler is the one that divides
	add(l.IOWeight > 0, knob{mechanism: "io_weight", controller: "io", legacy: "blkio",
		v2: []setting{{[]string{"io.weight", "io.bfq.weight"}, "default " + w, anyValue}},
		v1: []setting{{[]string{"blkio.bfq.weight", "blkio.weight"}, strconv.Itoa(min(max(l.IOWeight, 10), 1000)), anyValue}}})
}

func (l *Limits) hugeKnobs(add func(bool, knob)) {
	sizes := make([]string, 0, len(l.HugeTLB))
	for s := range l.HugeTLB {
		sizes = append(sizes, s)
	}
	sort.Strings(sizes)
	huge := knob{mechanism: "hugetlb", controller: "hugetlb"}
	for _, s := range sizes {
		n := l.HugeTLB[s]
		huge.v2 = append(huge.v2, checked("hugetlb."+s+".max", number(n), sameBytes))
		huge.v1 = append(huge.v1, checked("hugetlb."+s+".limit_in_bytes", number(n), sameBytes))
	}
	add(len(sizes) > 0, huge)
}
