package cgroup

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// TestEveryLimit makes a group with each limit by itself and compares the kernel's files of either version with it.
func TestEveryLimit(t *testing.T) {
	l, _ := yard(t)
	disk := wholeDisk(t)
	tests := []struct {
		name  string
		want  Limits
		files map[string]string
	}{
		{"memory", Limits{Memory: 64 << 20}, map[string]string{"memory.max": "67108864", "memory.oom.group": "1", "memory.limit_in_bytes": "67108864",
			"memory.kmem.tcp.limit_in_bytes": "67108864"}},
		{"memory, not whole pages", Limits{Memory: 64<<20 + 5}, map[string]string{"memory.max": "67108864", "memory.limit_in_bytes": "67108864"}},
		{"memory, one process", Limits{Memory: 64 << 20, NoOOMGroup: true}, map[string]string{"memory.max": "67108864", "memory.oom.group": "0", "memory.limit_in_bytes": "67108864"}},
		{"memory_swap", Limits{Memory: 64 << 20, Swap: Swap{Set: true}}, map[string]string{"memory.swap.max": "0", "memory.memsw.limit_in_bytes": "67108864"}},
		{"more swap", Limits{Memory: 64 << 20, Swap: Swap{Set: true, Max: 1 << 20}}, map[string]string{"memory.swap.max": "1048576", "memory.memsw.limit_in_bytes": "68157440"}},
		{"all swap", Limits{Memory: 64 << 20, Swap: Swap{Set: true, Max: -1}}, map[string]string{"memory.swap.max": "max", "memory.memsw.limit_in_bytes": "9223372036854771712"}},
		{"memory_high", Limits{MemoryHigh: 32 << 20}, map[string]string{"memory.high": "33554432"}},
		{"memory_zswap", Limits{Zswap: 4 << 20}, map[string]string{"memory.zswap.max": "4194304"}},
		{"memory_low", Limits{MemoryLow: 32 << 20}, map[string]string{"memory.low": "33554432", "memory.soft_limit_in_bytes": "33554432"}},
		{"memory_min", Limits{MemoryMin: 32 << 20}, map[string]string{"memory.min": "33554432"}},
		{"processes", Limits{Processes: 17}, map[string]string{"pids.max": "17"}},
		{"cpus", Limits{CPUQuota: 50 * time.Millisecond}, map[string]string{"cpu.max": "50000 100000", "cpu.cfs_quota_us": "50000", "cpu.cfs_period_us": "100000"}},
		{"cpus and period", Limits{CPUQuota: 20 * time.Millisecond, CPUPeriod: 10 * time.Millisecond}, map[string]string{"cpu.max": "20000 10000", "cpu.cfs_quota_us": "20000"}},
		{"cpu_burst", Limits{CPUQuota: 50 * time.Millisecond, CPUBurst: 10 * time.Millisecond}, map[string]string{"cpu.max.burst": "10000", "cpu.cfs_burst_us": "10000"}},
		{"cpu_weight", Limits{CPUWeight: 200}, map[string]string{"cpu.weight": "200", "cpu.shares": "2048"}},
		{"the least weight", Limits{CPUWeight: 1}, map[string]string{"cpu.weight": "1", "cpu.shares": "10"}},
		{"the most weight", Limits{CPUWeight: 10000}, map[string]string{"cpu.weight": "10000", "cpu.shares": "102400"}},
		{"cpuset", Limits{CPUs: "0"}, map[string]string{"cpuset.cpus": "0"}},
		{"cpuset, as the kernel would not write it", Limits{CPUs: "0,0-0", Mems: "0"}, map[string]string{"cpuset.cpus": "0", "cpuset.mems": "0"}},
		{"io", Limits{IO: []Device{{Major: disk.Major, Minor: disk.Minor, ReadBps: 1 << 20, WriteIOPS: 50}}}, map[string]string{
			"io.max":                           fmt.Sprintf("%d:%d rbps=1048576 wbps=max riops=max wiops=50", disk.Major, disk.Minor),
			"blkio.throttle.read_bps_device":   fmt.Sprintf("%d:%d 1048576", disk.Major, disk.Minor),
			"blkio.throttle.write_iops_device": fmt.Sprintf("%d:%d 50", disk.Major, disk.Minor)}},
		{"hugetlb", Limits{HugeTLB: map[string]int64{"2MB": 4 << 20}}, map[string]string{"hugetlb.2MB.max": "4194304", "hugetlb.2MB.limit_in_bytes": "4194304"}},
		{"no huge pages", Limits{HugeTLB: map[string]int64{"2MB": 0}}, map[string]string{"hugetlb.2MB.max": "0", "hugetlb.2MB.limit_in_bytes": "0"}},
		{"a file of version 2", Limits{Files: []File{{"cgroup.max.depth", "3"}}}, map[string]string{"cgroup.max.depth": "3"}},
		{"a file of both", Limits{Files: []File{{"pids.max", "9"}}}, map[string]string{"pids.max": "9"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if len(tt.want.IO) > 0 && disk.Major == 0 {
				t.Skip("there is no disk")
			}
			g := makeGroup(t, l, &tt.want)
			compared := 0
			for name, want := range tt.files {
				switch got := value(t, g, name); got {
				case "no such file": // the other version's
				case want:
					compared++
				default:
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			if compared == 0 {
				t.Error("nothing was there to compare")
			}
			if len(g.Lost) > 0 {
				t.Error(g.Lost)
			}
		})
	}
	if left := contents(t, l); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// wholeDisk is some disk of this machine; 0:0 if it has none.
func wholeDisk(t *testing.T) (d Device) {
	t.Helper()
	list, _ := os.ReadDir("/sys/block") // a machine may hide it
	for _, e := range list {
		b, err := os.ReadFile("/sys/block/" + e.Name() + "/dev")
		if _, scan := fmt.Sscanf(string(b), "%d:%d", &d.Major, &d.Minor); err == nil && scan == nil && strings.HasPrefix(e.Name(), "vd") {
			return d
		}
	}
	return Device{}
}

// TestFailures: the error of a failed step names the step, the cause and a remedy, and everything made before it is
// removed.
func TestFailures(t *testing.T) {
	l, _ := yard(t)
	before := Limits{Memory: 64 << 20, Processes: 10, CPUQuota: 10 * time.Millisecond}
	tests := []struct {
		name, mechanism, op, remedy string
		causes                      []error
		change                      func(*Limits)
	}{
		{"a processor that there is not", "cpuset", "cpuset.cpus", "takes no such value", []error{unix.EINVAL, unix.ERANGE, unix.EACCES, nil}, func(w *Limits) { w.CPUs = "99" }},
		{"a memory node that there is not", "cpuset", "cpuset.mems", "takes no such value", []error{unix.EINVAL, unix.ERANGE, unix.EACCES, nil}, func(w *Limits) { w.CPUs, w.Mems = "0", "63" }},
		{"a period out of range", "cpus", "write", "takes no such value", []error{unix.EINVAL}, func(w *Limits) { w.CPUPeriod = 2 * time.Second }},
		{"a burst above the quota", "cpu_burst", "burst", "takes no such value", []error{unix.EINVAL}, func(w *Limits) { w.CPUBurst = time.Hour }},
		{"too many processes", "processes", "pids.max", "takes no such value", []error{unix.EINVAL}, func(w *Limits) { w.Processes = 1 << 40 }},
		{"a file that there is not", "cgroup_file", "pids.nothing", "no such limit here", []error{unix.ENOENT}, func(w *Limits) { w.Files = []File{{"pids.nothing", "1"}} }},
		{"a file that is not for writing", "cgroup_file", "pids.current", "", []error{unix.EACCES, unix.EINVAL}, func(w *Limits) { w.Files = []File{{"pids.current", "1"}} }},
		{"a value that is no number", "cgroup_file", "pids.max", "takes no such value", []error{unix.EINVAL}, func(w *Limits) { w.Files = []File{{"pids.max", "x\x1b"}} }},
		{"huge pages of no size", "hugetlb", "hugetlb.3MB.", "no such limit here", []error{unix.ENOENT}, func(w *Limits) { w.HugeTLB = map[string]int64{"3MB": 0} }},
		{"a device that there is not", "io", "9999:1", "takes no such value", []error{unix.ENODEV, unix.ENXIO}, func(w *Limits) { w.IO = []Device{{Major: 9999, Minor: 1, ReadBps: 1}} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := before
			tt.change(&want)
			p := Resolve(&want, l)
			if p.Missing[tt.mechanism] != "" {
				t.Skip(p.Missing[tt.mechanism])
			}
			fds := openFiles(t)
			g, err := p.Create()
			var s *StepError
			if g != nil || !errors.As(err, &s) {
				t.Fatalf("got %v, %v", g, err)
			}
			if s.Step < 1 || s.Step > s.Of || s.Of != len(p.Steps()) || s.Mechanism != tt.mechanism || !strings.Contains(s.Op, tt.op) || !strings.Contains(s.Remedy.String(), tt.remedy) && s.Err == error(unix.EINVAL) {
				t.Errorf("got %+v", s)
			}
			if !slices.ContainsFunc(tt.causes, func(c error) bool { return c != nil && errors.Is(err, c) }) && !strings.Contains(err.Error(), "the kernel has made") {
				t.Errorf("the cause is %v", s.Err)
			}
			if strings.ContainsAny(err.Error(), "\n\x1b") || !strings.HasSuffix(err.Error(), fmt.Sprintf("(step %d of %d)", s.Step, s.Of)) {
				t.Errorf("%q", err)
			}
			t.Log(err)
			if left := contents(t, l); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
			if now := openFiles(t); now != fds {
				t.Errorf("%d files are open, were %d", now, fds)
			}
		})
	}
}

func openFiles(t testing.TB) int {
	t.Helper()
	list := must.Get(os.ReadDir("/proc/self/fd"))(t)
	return len(list)
}

// TestOptional: an optional mechanism that fails is given up alone, and the group is made.
func TestOptional(t *testing.T) {
	l, _ := yard(t)
	p := Resolve(&Limits{Memory: 64 << 20, Processes: 1 << 40, Files: []File{{"pids.nothing", "1"}}}, l)
	if len(p.Missing) > 0 {
		t.Skip(p.Missing)
	}
	p.Optional["processes"], p.Optional["cgroup_file"] = true, true
	lost := 2
	for i := range p.steps {
		if n := p.steps[i].setting.names; len(n) > 0 && n[0] == "memory.kmem.tcp.limit_in_bytes" { // as on a kernel without it
			n[0], lost = "memory.kmem.tcp.nothing", 3
		}
	}
	g := must.Get(p.Create())(t)
	defer g.Remove()
	if why := g.Lost["memory_sockets"]; lost == 3 && !strings.Contains(why, "memory.kmem.tcp.nothing: no such file") {
		t.Errorf("%q", why)
	}
	if len(g.Lost) != lost || !strings.Contains(g.Lost["processes"], "pids.max: invalid argument") || !strings.Contains(g.Lost["cgroup_file"], "no such file") {
		t.Errorf("%q", g.Lost)
	}
	if s := g.Read(); s.MemoryPeak < 0 {
		t.Errorf("%+v", s)
	}
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	if left := contents(t, l); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestOptionalDirectory: if a hierarchy cannot be written, only its mechanisms are given up, the processor time
// included.
func TestOptionalDirectory(t *testing.T) {
	l, _ := yard(t)
	broken := *l
	broken.Controllers = map[string]string{}
	for c, dir := range l.Controllers {
		broken.Controllers[c] = dir
	}
	if l.Mode == V2 {
		broken.Dir += "/gone"
	} else {
		broken.Controllers["pids"] += "/gone"
	}
	p := Resolve(&Limits{Processes: 5, CPUTime: true, Memory: 64 << 20}, &broken)
	for _, m := range []string{"processes", "cpu_time", "memory"} {
		p.Optional[m] = true
	}
	g, err := p.Create()
	must.Do(t, err)
	if !strings.Contains(g.Lost["processes"], "mkdir") || (l.Mode == V2) != (g.Lost["cpu_time"] != "") {
		t.Errorf("%q", g.Lost)
	}
	fds, err := g.Tasks()
	if err != nil || len(fds) != len(p.V1Joins()) {
		t.Errorf("%v, %v for %q", fds, err, p.V1Joins())
	}
	for _, fd := range fds {
		if _, err := unix.Write(fd, []byte("")); err != nil {
			t.Error(err)
		}
		unix.Close(fd)
	}
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	p.Optional = map[string]bool{}
	if _, err := p.Create(); !errors.Is(err, unix.ENOENT) {
		t.Errorf("not optional: %v", err)
	}
	if left := contents(t, l); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
