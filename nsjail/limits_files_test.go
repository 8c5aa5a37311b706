package nsjail

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brig/cgroup"
	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// limitFiles are limits and the files that hold them: version 2's, version 1's with its controller, and what is to be
// read there. An empty one is a limit that the version has not.
var limitFiles = []struct {
	name         string
	set          func(*spec.Limits)
	v2, v2value  string
	controller   string
	v1, v1value  string
	alternatives string // what else the kernel makes of it
}{
	{"memory", func(l *spec.Limits) { l.Memory = 64 << 20 }, "memory.max", "67108864", "memory", "memory.limit_in_bytes", "67108864", ""},
	{"memory_sockets", func(l *spec.Limits) { l.Memory = 64 << 20 }, "memory.max", "67108864", "memory", "memory.kmem.tcp.limit_in_bytes", "67108864", ""},
	{"memory_swap", func(l *spec.Limits) { l.Memory, l.MemorySwap = 64<<20, 96<<20 }, "memory.swap.max", "33554432", "memory", "memory.memsw.limit_in_bytes", "100663296", ""},
	{"memory_high", func(l *spec.Limits) { l.MemoryHigh = 32 << 20 }, "memory.high", "33554432", "", "", "", ""},
	{"memory_zswap", func(l *spec.Limits) { l.MemoryZswap = 4 << 20 }, "memory.zswap.max", "4194304", "", "", "", ""},
	{"memory_low", func(l *spec.Limits) { l.MemoryLow = 16 << 20 }, "memory.low", "16777216", "memory", "memory.soft_limit_in_bytes", "16777216", ""},
	{"memory_min", func(l *spec.Limits) { l.MemoryMin = 8 << 20 }, "memory.min", "8388608", "", "", "", ""},
	{"processes", func(l *spec.Limits) { l.Processes = 31 }, "pids.max", "32", "pids", "pids.max", "32", ""},
	{"cpus", func(l *spec.Limits) { l.CPUs = 0.5 }, "cpu.max", "50000 100000", "cpu", "cpu.cfs_quota_us", "50000", ""},
	{"cpus", func(l *spec.Limits) { l.CPUs, l.CPUPeriod = 1.5, 50e6 }, "cpu.max", "75000 50000", "cpu", "cpu.cfs_period_us", "50000", ""},
	{"cpu_burst", func(l *spec.Limits) { l.CPUs, l.CPUBurst = 0.5, 10e6 }, "cpu.max.burst", "10000", "cpu", "cpu.cfs_burst_us", "10000", ""},
	{"cpu_weight", func(l *spec.Limits) { l.CPUWeight = 50 }, "cpu.weight", "50", "cpu", "cpu.shares", "512", ""},
	{"cpuset", func(l *spec.Limits) { l.CPUSet = "0" }, "cpuset.cpus", "0", "cpuset", "cpuset.cpus", "0", ""},
	{"io_weight", func(l *spec.Limits) { l.IOWeight = 50 }, "io.weight", "default 50", "blkio", "blkio.bfq.weight", "50", "io.bfq.weight"},
	{"cgroup_file", func(l *spec.Limits) { l.Cgroup = []string{"pids.max=9"} }, "pids.max", "9", "pids", "pids.max", "9", ""},
}

// runningPayload starts a jail that waits for the end of its standard input, and returns the function that ends it.
func runningPayload(t *testing.T, c *Cmd) (end func() *Result) {
	t.Helper()
	in, ours, err := os.Pipe()
	must.Do(t, err)
	c.Stdin = in
	must.Do(t, c.Start())
	in.Close()
	return func() *Result {
		t.Helper()
		ours.Close()
		return must.Get(c.Wait())(t)
	}
}

// TestLimitFiles: each limit stands in the file that the report names, while the jail runs.
func TestLimitFiles(t *testing.T) {
	for _, f := range limitFiles {
		t.Run(f.name+" "+f.v2value, func(t *testing.T) {
			c := Command("cat")
			f.set(&c.Spec.Limits)
			// these depend on the scheduler of a disk, and on a kernel with zswap
			c.Spec.Optional = []string{"io_weight", "memory_zswap"}
			end := runningPayload(t, needsLimits(t, c))
			v2, v1 := c.ControlGroup()
			by := c.Plan().Enforced[f.name]
			dir, name, want := v2, f.v2, f.v2value
			if strings.HasPrefix(by.String(), "cgroup1 ") {
				dir, name, want = v1[f.controller], f.v1, f.v1value
			}
			got, err := os.ReadFile(filepath.Join(dir, name))
			r := end()
			if lost := r.Enforced[f.name]; strings.HasPrefix(lost.String(), "not enforced") {
				t.Skip(lost)
			}
			if f.alternatives != "" && err != nil {
				t.Skip(err)
			}
			if text := strings.TrimSpace(string(got)); err != nil || text != want {
				t.Errorf("%s is %q, want %q: %v", name, text, want, err)
			}
			if !regexp.MustCompile(`^cgroup[12] .*` + regexp.QuoteMeta(name)).MatchString(r.Enforced[f.name].String()) {
				t.Errorf("enforced %q, which does not name %s", r.Enforced[f.name], name)
			}
		})
	}
}

// TestLimitUsage: the figures that this layout has are present and plausible.
func TestLimitUsage(t *testing.T) {
	c := python(t, `
import os, time
x = b"x" * (20 << 20)
for _ in range(5):
    if os.fork() == 0:
        while time.process_time() < 0.02: pass
        time.sleep(0.1); os._exit(0)
for _ in range(5): os.wait()`)
	l := &c.Spec.Limits
	l.Memory, l.Processes, l.CPUs = 64<<20, 20, 2
	_, r := mustRun(t, needsLimits(t, c))
	u := &r.Usage
	if r.Status != StatusOK || u.Wall < Millis(100e6) || u.User+u.System < Millis(100e6) || u.User+u.System > 4*u.Wall || u.MaxRSS < 20<<20 || u.VoluntarySwitches < 5 {
		t.Errorf("%s %+v", r.Status, u)
	}
	host := must.Get(cgroup.Detect(""))(t)
	for _, figure := range []struct {
		name       string
		value      Count
		least, top Count
		modes      string // where it must be known
	}{
		{"memory_peak_bytes", u.MemoryPeak, 20 << 20, 64 << 20, "v2 hybrid v1"}, {"pids_peak", u.PidsPeak, 7, 21, "v2 hybrid"},
		{"oom_kills", u.OOMKills, 0, 0, "v2 hybrid v1"}, {"forks_refused", u.ForksRefused, 0, 0, "v2 hybrid v1"},
		{"periods", u.Periods, 1, 1000, "v2 hybrid v1"}, {"throttled_periods", u.ThrottledPeriods, 0, 1000, "v2 hybrid v1"},
		{"swap_peak_bytes", u.SwapPeak, 0, 64 << 20, ""}, {"io_read_bytes", u.IORead, 0, 1 << 30, ""}, {"io_written_bytes", u.IOWritten, 0, 1 << 30, ""},
		{"throttled_ms", Count(u.Throttled), 0, 1e9, "v2 hybrid v1"}, {"cpu_stall_ms", Count(u.CPUStall), 0, 60e9, ""},
		{"memory_stall_ms", Count(u.MemoryStall), 0, 60e9, ""}, {"io_stall_ms", Count(u.IOStall), 0, 60e9, ""},
	} {
		known := figure.value >= 0
		if known && (figure.value < figure.least || figure.value > figure.top) {
			t.Errorf("%s is %d, want %d to %d", figure.name, figure.value, figure.least, figure.top)
		}
		if !known && strings.Contains(figure.modes, string(host.Mode)) && figure.name != "pids_peak" {
			t.Errorf("%s is not known in layout %s", figure.name, host.Mode)
		}
	}
}

// TestLiveUsage: a running jail's figures are those of its group; before, after, and without a group there are none.
func TestLiveUsage(t *testing.T) {
	c := tight(t, "read line")
	if u, err := c.LiveUsage(); u != nil || err != nil {
		t.Errorf("before Start: %+v, %v", u, err)
	}
	end := runningPayload(t, c)
	if u, err := c.LiveUsage(); err != nil || u == nil || u.CPU == nil || u.Tasks == nil || *u.Tasks < 2 || u.TaskLimit == nil {
		t.Errorf("%+v, %v", u, err)
	}
	end()
	if u, err := c.LiveUsage(); u != nil || !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("after the end: %+v, %v", u, err)
	}
	without := Command("true")
	must.Get(without.Run())(t)
	if u, err := without.LiveUsage(); u != nil || err != nil {
		t.Errorf("without a group: %+v, %v", u, err)
	}
}

// TestLimitOwnGroup: the payload sees no group but its own root, and the caller sees it in a group of its own.
func TestLimitOwnGroup(t *testing.T) {
	var out strings.Builder
	c := tight(t, "cat /proc/self/cgroup; read line")
	c.Stdout = &out
	end := runningPayload(t, c)
	v2, v1 := c.ControlGroup()
	for _, dir := range append([]string{v2}, v1["memory"]) {
		if dir == "" {
			continue
		}
		if b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs")); err != nil || strings.TrimSpace(string(b)) == "" {
			t.Errorf("%s: %q %v", dir, b, err)
		}
	}
	end()
	if strings.Contains(out.String(), "brig-") || !strings.Contains(out.String(), ":/\n") {
		t.Errorf("%s", out.String())
	}
}
