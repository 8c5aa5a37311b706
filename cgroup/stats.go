package cgroup

import (
	"strconv"
	"strings"
	"time"
)

// Stats is what the kernel has counted for a group. A negative figure is one that this kernel or layout does not give.
type Stats struct {
	CPU, User, System            time.Duration
	MemoryPeak, SwapPeak         int64 // bytes
	PidsPeak                     int64
	IORead, IOWritten            int64 // bytes of block devices
	Periods, ThrottledPeriods    int64
	Throttled                    time.Duration
	CPUStall, MemStall, IOStall  time.Duration // PSI, some: at least one process waited
	MemFullStall, IOFullStall    time.Duration // PSI, full: all waited
	OOMKills                     int64         // processes of the group that an out-of-memory killer has ended
	OOMOwn                       int64         // how often the group's own limit was the cause
	MemoryAtMax, MemoryAboveHigh int64         // how often a limit made the kernel reclaim
	ProcessesRefused             int64         // how often fork(2) met the limit
}

// Unknown is a Stats of which nothing is known.
func Unknown() Stats {
	return Stats{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}
}

// Read reads all counters. A file that is missing leaves its figures unknown.
func (g *Group) Read() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := Unknown()
	for _, d := range g.dirs { // version 2 comes first, and what it says stands
		switch {
		case d == nil:
		case d.version == 2:
			d.readV2(&s)
		default:
			d.readV1(&s)
		}
	}
	return s
}

func (d *directory) readV2(s *Stats) {
	cpu := d.table("cpu.stat")
	put(&s.CPU, cpu, "usage_usec", time.Microsecond)
	put(&s.User, cpu, "user_usec", time.Microsecond)
	put(&s.System, cpu, "system_usec", time.Microsecond)
	put(&s.Periods, cpu, "nr_periods", 1)
	put(&s.ThrottledPeriods, cpu, "nr_throttled", 1)
	put(&s.Throttled, cpu, "throttled_usec", time.Microsecond)
	d.number(&s.MemoryPeak, "memory.peak")
	d.number(&s.SwapPeak, "memory.swap.peak")
	d.number(&s.PidsPeak, "pids.peak")
	events := d.table("memory.events")
	put(&s.OOMKills, events, "oom_kill", 1)
	put(&s.OOMOwn, events, "oom", 1)
	put(&s.MemoryAtMax, events, "max", 1)
	put(&s.MemoryAboveHigh, events, "high", 1)
	put(&s.ProcessesRefused, d.table("pids.events"), "max", 1)
	d.ioStat(s)
	d.stall("cpu.pressure", &s.CPUStall, nil)
	d.stall("memory.pressure", &s.MemStall, &s.MemFullStall)
	d.stall("io.pressure", &s.IOStall, &s.IOFullStall)
}

func (d *directory) readV1(s *Stats) {
	d.number(&s.MemoryPeak, "memory.max_usage_in_bytes")
	put(&s.OOMKills, d.table("memory.oom_control"), "oom_kill", 1)
	put(&s.ProcessesRefused, d.table("pids.events"), "max", 1)
	d.number(&s.PidsPeak, "pids.peak")
	cpu := d.table("cpu.stat")
	put(&s.Periods, cpu, "nr_periods", 1)
	put(&s.ThrottledPeriods, cpu, "nr_throttled", 1)
	put(&s.Throttled, cpu, "throttled_time", 1)
	d.number((*int64)(&s.CPU), "cpuacct.usage")
	d.number((*int64)(&s.User), "cpuacct.usage_user")
	d.number((*int64)(&s.System), "cpuacct.usage_sys")
	if text, err := d.read("blkio.throttle.io_service_bytes_recursive"); err == nil && s.IORead < 0 {
		s.IORead, s.IOWritten = 0, 0
		for _, line := range strings.Split(text, "\n") {
			if f := strings.Fields(line); len(f) == 3 { // "8:0 Read 4096"
				n, _ := strconv.ParseInt(f[2], 10, 64)
				switch f[1] {
				case "Read":
					s.IORead += n
				case "Write":
					s.IOWritten += n
				}
			}
		}
	}
}

// ioStat sums "8:0 rbytes=4096 wbytes=0 ..." over the devices.
func (d *directory) ioStat(s *Stats) {
	text, err := d.read("io.stat")
	if err != nil {
		return
	}
	s.IORead, s.IOWritten = 0, 0
	for _, word := range strings.Fields(text) {
		key, value, _ := strings.Cut(word, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			continue
		}
		switch key {
		case "rbytes":
			s.IORead += n
		case "wbytes":
			s.IOWritten += n
		}
	}
}

// stall reads the total of "some avg10=0.00 ... total=12", in microseconds: PSI.
func (d *directory) stall(name string, some, full *time.Duration) {
	text, err := d.read(name)
	if err != nil {
		return
	}
	for _, line := range strings.Split(text, "\n") {
		_, total, ok := strings.Cut(line, "total=")
		n, err := strconv.ParseInt(strings.TrimSpace(total), 10, 64)
		switch {
		case !ok || err != nil:
		case strings.HasPrefix(line, "some"):
			*some = time.Duration(n) * time.Microsecond
		case full != nil && strings.HasPrefix(line, "full"):
			*full = time.Duration(n) * time.Microsecond
		}
	}
}

// table reads a file of "key value" lines.
func (d *directory) table(name string) map[string]int64 {
	text, err := d.read(name)
	if err != nil {
		return nil
	}
	return keyed(text)
}

func keyed(text string) map[string]int64 {
	m := map[string]int64{}
	for _, line := range strings.Split(text, "\n") {
		key, value, _ := strings.Cut(line, " ")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			m[key] = n
		}
	}
	return m
}

// put fills a figure that nothing has filled yet.
func put[T ~int64](to *T, table map[string]int64, key string, unit T) {
	if n, ok := table[key]; ok && *to < 0 {
		*to = T(n) * unit
	}
}

func (d *directory) number(to *int64, name string) {
	if *to >= 0 {
		return
	}
	text, err := d.read(name)
	if err != nil {
		return
	}
	if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
		*to = n
	}
}

// CPUUsage is the processor time of all processes that have ever been in the group; negative if it is not known.
func (g *Group) CPUUsage() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, d := range g.dirs {
		if d == nil {
			continue
		}
		s := Unknown()
		if d.version == 2 {
			put(&s.CPU, d.table("cpu.stat"), "usage_usec", time.Microsecond)
		} else {
			d.number((*int64)(&s.CPU), "cpuacct.usage")
		}
		if s.CPU >= 0 {
			return s.CPU
		}
	}
	return -1
}
