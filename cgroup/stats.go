package cgroup

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Stats are the kernel's counters of a group. A value that this kernel or layout does not provide is negative.
type Stats struct {
	CPU, User, System            time.Duration
	MemoryPeak, SwapPeak         int64 // bytes
	PidsPeak                     int64
	IORead, IOWritten            int64 // bytes of block devices
	Periods, ThrottledPeriods    int64
	Throttled                    time.Duration
	CPUStall, MemStall, IOStall  time.Duration // PSI, some: at least one process waited
	MemFullStall, IOFullStall    time.Duration // PSI, full: all waited
	OOMKills                     int64         // processes of the group killed by the out-of-memory killer
	OOMOwn                       int64         // how often it was for the group's own limit
	MemoryAtMax, MemoryAboveHigh int64         // how often a limit caused reclaim
	ProcessesRefused             int64         // how often the limit made fork(2) fail
}

// Unknown returns a Stats without any values.
func Unknown() Stats {
	return Stats{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}
}

// Read reads all counters. Values of missing files are unknown.
func (g *Group) Read() Stats {
	s := Unknown()
	for d := range g.made() { // version 2 has priority
		if d.Version == 2 {
			d.readV2(&s)
		} else {
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
	s.IORead, s.IOWritten = d.traffic("io.stat", "rbytes", "wbytes")
	d.stall("cpu.pressure", &s.CPUStall, nil)
	d.stall("memory.pressure", &s.MemStall, &s.MemFullStall)
	d.stall("io.pressure", &s.IOStall, &s.IOFullStall)
}

func (d *directory) readV1(s *Stats) {
	if d.holds("memory") {
		d.number(&s.MemoryPeak, "memory.max_usage_in_bytes")
		put(&s.OOMKills, d.table("memory.oom_control"), "oom_kill", 1)
		d.oomOwn(s)
	}
	if d.holds("pids") {
		put(&s.ProcessesRefused, d.table("pids.events"), "max", 1)
		d.number(&s.PidsPeak, "pids.peak")
	}
	if d.holds("cpu") {
		cpu := d.table("cpu.stat")
		put(&s.Periods, cpu, "nr_periods", 1)
		put(&s.ThrottledPeriods, cpu, "nr_throttled", 1)
		put(&s.Throttled, cpu, "throttled_time", 1)
	}
	if d.holds("cpuacct") && s.CPU < 0 {
		d.number((*int64)(&s.CPU), "cpuacct.usage")
		d.number((*int64)(&s.User), "cpuacct.usage_user")
		d.number((*int64)(&s.System), "cpuacct.usage_sys")
		s.divideCPU()
	}
	if d.holds("blkio") && s.IORead < 0 {
		s.IORead, s.IOWritten = d.traffic("blkio.throttle.io_service_bytes_recursive", "Read", "Write")
	}
}

// divideCPU scales User and System so that their sum is CPU, as the kernel does in version 2. In version 1 both are
// sampled at the timer's ticks.
func (s *Stats) divideCPU() {
	if s.CPU < 0 || s.User < 0 || s.System < 0 {
		return
	}
	user := uint64(s.CPU) // as for the kernel if there was no tick
	if s.System > 0 {
		high, low := bits.Mul64(user, uint64(s.User))
		user, _ = bits.Div64(high, low, uint64(s.User)+uint64(s.System))
	}
	s.User, s.System = time.Duration(user), s.CPU-time.Duration(user)
}

// oomOwn counts kills caused by the group's own limits. A group whose usage has stayed below them, with and without
// swap, cannot have caused one. The counters of failures (failcnt) may remain 0 even if the limit with swap was hit.
func (d *directory) oomOwn(s *Stats) {
	if s.OOMKills < 0 || s.OOMOwn >= 0 {
		return
	}
	s.OOMOwn = 0
	for _, prefix := range []string{"memory.", "memory.memsw."} { // the second is missing if swap is not accounted
		peak, limit := int64(-1), int64(-1)
		d.number(&peak, prefix+"max_usage_in_bytes")
		d.number(&limit, prefix+"limit_in_bytes")
		if peak >= 0 && limit >= 0 && peak >= limit-oomMargin {
			s.OOMOwn = s.OOMKills
		}
	}
}

// oomMargin exceeds the charge of a single allocation that can trigger the out-of-memory killer: a batch of 64 pages.
const oomMargin = 1 << 20

// traffic reads a file with byte counts for each device.
func (d *directory) traffic(name, reads, writes string) (read, written int64) {
	text, err := d.read(name)
	if err != nil {
		return -1, -1
	}
	return traffic(text, reads, writes)
}

// stall reads a PSI file.
func (d *directory) stall(name string, some, full *time.Duration) {
	if text, err := d.read(name); err == nil {
		*some = stalled(text, "some")
		if full != nil {
			*full = stalled(text, "full")
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

func (d *directory) number(to *int64, name string) {
	if *to >= 0 {
		return
	}
	if text, err := d.read(name); err == nil {
		*to = count(strings.TrimSuffix(text, "\n"))
	}
}

// OOMKills returns Stats.OOMKills alone, for the baseline at start.
func (g *Group) OOMKills() int64 {
	kills := int64(-1)
	for d := range g.made() {
		if d.Version == 2 || d.holds("memory") {
			put(&kills, d.table(d.pick("memory.events", "memory.oom_control")), "oom_kill", 1)
		}
	}
	return kills
}

// CPUUsage returns the processor time of all processes that have ever been in the group. It is negative if unknown.
func (g *Group) CPUUsage() time.Duration {
	used := time.Duration(-1)
	for d := range g.made() {
		if d.Version == 2 {
			put(&used, d.table("cpu.stat"), "usage_usec", time.Microsecond)
		} else {
			d.number((*int64)(&used), "cpuacct.usage")
		}
	}
	return used
}

// count parses one of the kernel's numbers, which are never negative. It returns -1 for other text.
func count(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// keyed parses lines of "key value", such as memory.events and cpu.stat.
func keyed(text string) map[string]int64 {
	m := map[string]int64{}
	for line := range strings.SplitSeq(text, "\n") {
		key, value, _ := strings.Cut(line, " ")
		if n := count(value); n >= 0 {
			m[key] = n
		}
	}
	return m
}

// put sets a field that is still unknown. A value too large for its unit leaves it unknown.
func put[T ~int64](to *T, table map[string]int64, key string, unit T) {
	if n, ok := table[key]; ok && *to < 0 && n <= math.MaxInt64/int64(unit) {
		*to = T(n) * unit
	}
}

// traffic sums "8:0 rbytes=4096 wbytes=0 ..." of version 2, or "8:0 Read 4096" of version 1, over the devices.
func traffic(text, reads, writes string) (read, written int64) {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '=' })
	for i := 1; i < len(words); i++ {
		switch words[i-1] {
		case reads:
			add(&read, words[i])
		case writes:
			add(&written, words[i])
		}
	}
	return read, written
}

// add adds a number, up to the largest int64.
func add(to *int64, text string) {
	if n := count(text); n > math.MaxInt64-*to {
		*to = math.MaxInt64
	} else if n > 0 {
		*to += n
	}
}

// stalled reads the total of "some avg10=0.00 avg60=0.00 avg300=0.00 total=12", in microseconds: PSI. It is negative if
// there is no such line.
func stalled(text, who string) time.Duration {
	for line := range strings.SplitSeq(text, "\n") {
		_, total, ok := strings.Cut(line, " total=")
		if !ok || !strings.HasPrefix(line, who+" ") {
			continue
		}
		if n := count(total); n >= 0 && n <= math.MaxInt64/int64(time.Microsecond) {
			return time.Duration(n) * time.Microsecond
		}
	}
	return -1
}
