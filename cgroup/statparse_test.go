package cgroup

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

func TestUnknown(t *testing.T) {
	s := reflect.ValueOf(Unknown())
	for i := range s.NumField() {
		if s.Field(i).Int() != -1 {
			t.Errorf("%s is %d", s.Type().Field(i).Name, s.Field(i).Int())
		}
	}
}

// invented is a group's directory that is none: files with the texts of a kernel.
func invented(t *testing.T, version int, files map[string]string) *directory {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	fd := must.Get(unix.Open(dir, openDir, 0))(t)
	t.Cleanup(func() { unix.Close(fd) })
	return &directory{fd: fd, Branch: &Branch{Base: dir, Version: version,
		Controllers: []string{"memory", "pids", "cpu", "cpuacct", "blkio"}}}
}

func TestReadTexts(t *testing.T) {
	const us = time.Microsecond
	v2 := map[string]string{
		"cpu.stat":          "usage_usec 30\nuser_usec 20\nsystem_usec 10\nnr_periods 4\nnr_throttled 3\nthrottled_usec 500\nnr_bursts 0\nburst_usec 0\n",
		"memory.peak":       "4096\n",
		"memory.swap.peak":  "0\n",
		"pids.peak":         "7\n",
		"memory.events":     "low 0\nhigh 5\nmax 6\noom 1\noom_kill 2\noom_group_kill 1\n",
		"pids.events":       "max 9\n",
		"io.stat":           "8:0 rbytes=4096 wbytes=10 rios=1 wios=1 dbytes=0 dios=0\n254:0 rbytes=1 wbytes=1\n7:0 \n",
		"cpu.pressure":      "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\n",
		"memory.pressure":   "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=13\n",
		"io.pressure":       "some avg10=99.00 avg60=0.00 avg300=0.00 total=14\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=15\n",
		"not.of.this.kind":  "1",
		"memory.max":        "max\n",
		"pids.events.local": "max 8\n",
	}
	v1 := map[string]string{
		"memory.max_usage_in_bytes": "1048576\n", "memory.limit_in_bytes": "1048576\n", "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
		"pids.events": "max 2\n", "cpu.stat": "nr_periods 4\nnr_throttled 3\nthrottled_time 500\n",
		"cpuacct.usage": "30\n", "cpuacct.usage_user": "20\n", "cpuacct.usage_sys": "10\n",
		"blkio.throttle.io_service_bytes_recursive": "8:0 Read 4096\n8:0 Write 10\n8:0 Sync 4106\n8:0 Async 0\n8:0 Discard 0\n8:0 Total 4106\n254:0 Read 1\nTotal 4107\n",
	}
	nothing := Unknown()
	tests := []struct {
		name    string
		version int
		files   map[string]string
		want    Stats
	}{
		{"nothing", 2, nil, nothing}, {"nothing", 1, nil, nothing},
		{"version 2", 2, v2, Stats{CPU: 30 * us, User: 20 * us, System: 10 * us, MemoryPeak: 4096, SwapPeak: 0, PidsPeak: 7, IORead: 4097, IOWritten: 11, Periods: 4,
			ThrottledPeriods: 3, Throttled: 500 * us, CPUStall: 11 * us, MemStall: 12 * us, IOStall: 14 * us, MemFullStall: 13 * us, IOFullStall: 15 * us,
			OOMKills: 2, OOMOwn: 1, MemoryAtMax: 6, MemoryAboveHigh: 5, ProcessesRefused: 9}},
		{"version 1", 1, v1, Stats{CPU: 30, User: 20, System: 10, MemoryPeak: 1 << 20, SwapPeak: -1, PidsPeak: -1, IORead: 4097, IOWritten: 10, Periods: 4,
			ThrottledPeriods: 3, Throttled: 500, CPUStall: -1, MemStall: -1, IOStall: -1, MemFullStall: -1, IOFullStall: -1,
			OOMKills: 3, OOMOwn: 3, MemoryAtMax: -1, MemoryAboveHigh: -1, ProcessesRefused: 2}},
		{"empty files", 2, map[string]string{"cpu.stat": "", "memory.peak": "", "memory.events": "", "cpu.pressure": ""}, nothing},
		{"broken files", 2, map[string]string{"cpu.stat": "usage_usec\nuser_usec x\nsystem_usec -5\nnr_periods 1 2\n throttled_usec 1\nnr_throttled 99999999999999999999\n",
			"memory.peak": "max\n", "pids.peak": "-3\n", "cpu.pressure": "some total\nsome avg10=0 total=x\nsome total=-1\nsomeone total=4\n"}, nothing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := invented(t, tt.version, tt.files)
			g := &Group{dirs: []*directory{{fd: -1}, d}}
			if got := g.Read(); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
			if got := g.CPUUsage(); got != tt.want.CPU {
				t.Errorf("processor time %v", got)
			}
		})
	}
	above := map[string]string{"memory.max_usage_in_bytes": "1048576\n", "memory.limit_in_bytes": "9223372036854771712\n", "memory.oom_control": "oom_kill 3\n",
		"memory.memsw.max_usage_in_bytes": "5\n", "memory.memsw.limit_in_bytes": "9223372036854771712\n"}
	if s := (&Group{dirs: []*directory{invented(t, 1, above)}}).Read(); s.OOMKills != 3 || s.OOMOwn != 0 {
		t.Errorf("a limit above: %+v", s)
	}
	above["memory.memsw.limit_in_bytes"] = "5\n"
	if s := (&Group{dirs: []*directory{invented(t, 1, above)}}).Read(); s.OOMOwn != 3 {
		t.Errorf("the limit with swap: %+v", s)
	}
}

// TestDivideCPU: version 1's user and system time are sampled; together they are what the group has used.
func TestDivideCPU(t *testing.T) {
	for _, tt := range []struct{ in, want Stats }{
		{Stats{CPU: 300, User: 290, System: 0}, Stats{CPU: 300, User: 300, System: 0}},
		{Stats{CPU: 300, User: 0, System: 400}, Stats{CPU: 300, User: 0, System: 300}},
		{Stats{CPU: 300, User: 100, System: 50}, Stats{CPU: 300, User: 200, System: 100}},
		{Stats{CPU: 300, User: 0, System: 0}, Stats{CPU: 300, User: 300, System: 0}},
		{Stats{CPU: 0, User: 4, System: 4}, Stats{CPU: 0, User: 0, System: 0}},
		{Stats{CPU: -1, User: 4, System: 4}, Stats{CPU: -1, User: 4, System: 4}},
		{Stats{CPU: 300, User: -1, System: 4}, Stats{CPU: 300, User: -1, System: 4}},
		{Stats{CPU: math.MaxInt64, User: math.MaxInt64, System: 0}, Stats{CPU: math.MaxInt64, User: math.MaxInt64, System: 0}},
	} {
		got := tt.in
		if got.divideCPU(); got != tt.want {
			t.Errorf("%+v: %+v", tt.in, got)
		}
	}
	d := invented(t, 1, map[string]string{"cpuacct.usage": "300000000\n", "cpuacct.usage_user": "291800000\n", "cpuacct.usage_sys": "0\n"})
	if s := (&Group{dirs: []*directory{d}}).Read(); s.User+s.System != s.CPU || s.System != 0 {
		t.Errorf("%+v", s)
	}
}

// TestVersion2First: what both versions count is version 2's word.
func TestVersion2First(t *testing.T) {
	g := &Group{dirs: []*directory{invented(t, 2, map[string]string{"cpu.stat": "usage_usec 1\n", "io.stat": ""}),
		invented(t, 1, map[string]string{"cpuacct.usage": "77\n", "cpu.stat": "nr_periods 2\n", "blkio.throttle.io_service_bytes_recursive": "8:0 Read 1\n"})}}
	if s := g.Read(); s.CPU != time.Microsecond || s.Periods != 2 || s.IORead != 0 || s.IOWritten != 0 {
		t.Errorf("%+v", s)
	}
}

func TestCount(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "12": 12, "9223372036854775807": math.MaxInt64, "": -1, "-1": -1, "max": -1, " 1": -1, "1\n": -1, "9223372036854775808": -1} {
		if got := count(text); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
	n := int64(5)
	for _, text := range []string{"x", "-7", "9223372036854775807"} {
		add(&n, text)
	}
	if n != math.MaxInt64 {
		t.Error(n)
	}
}

// FuzzStats: whatever a file has in it, a figure is unknown or a count, and no time has overflowed.
func FuzzStats(f *testing.F) {
	f.Add("usage_usec 9223372036854775807\nnr_periods 3\n")
	f.Add("8:0 rbytes=1 wbytes=9223372036854775807\n8:16 rbytes=9223372036854775807")
	f.Add("8:0 Read 1\n8:0 Write -1\nTotal 5")
	f.Add("some avg10=0.00 total=18446744073709551615\nfull total=4")
	f.Fuzz(func(t *testing.T, text string) {
		for key, n := range keyed(text) {
			if n < 0 || strings.Contains(key, "\n") {
				t.Errorf("%q: %d", key, n)
			}
		}
		s := Unknown()
		for key := range keyed(text) {
			put(&s.CPU, keyed(text), key, time.Microsecond)
		}
		s.IORead, s.IOWritten = traffic(text, "rbytes", "wbytes")
		read, written := traffic(text, "Read", "Write")
		s.MemStall, s.MemFullStall = stalled(text, "some"), stalled(text, "full")
		for _, n := range []int64{int64(s.CPU), s.IORead + 1, s.IOWritten + 1, read + 1, written + 1, int64(s.MemStall), int64(s.MemFullStall), count(text)} {
			if n < -1 && n != math.MinInt64 { // a sum stops at the largest number
				t.Errorf("%d of %q", n, text)
			}
		}
	})
}
