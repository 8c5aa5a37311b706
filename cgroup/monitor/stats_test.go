package monitor_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"brig/cgroup/monitor"

	"golang.org/x/sys/unix"
)

const mib = 1 << 20

func stats(t *testing.T, m *monitor.Monitor) monitor.Stats {
	t.Helper()
	s, err := m.Stats()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// atLeast checks that a figure is known and large enough.
func atLeast(t *testing.T, name string, f monitor.Figure, least uint64) {
	t.Helper()
	if !f.Known || f.Value < least || f.Value == monitor.Unlimited {
		t.Errorf("%s is %v, expected at least %d", name, f, least)
	}
}

func exactly(t *testing.T, name string, f monitor.Figure, want uint64) {
	t.Helper()
	if f != (monitor.Figure{Value: want, Known: true}) {
		t.Errorf("%s is %v, expected %d", name, f, want)
	}
}

func TestMemoryFigures(t *testing.T) {
	g, m := open(t)
	exactly(t, "Limit of a new group", stats(t, m).Memory.Limit, monitor.Unlimited)
	g.set("memory.max", "128M", "memory", "memory.limit_in_bytes", "128M")
	p := start(t, g, "allocate 32")
	p.work()
	s := stats(t, m).Memory
	atLeast(t, "Usage", s.Usage, 32*mib)
	atLeast(t, "Anon", s.Anon, 32*mib)
	exactly(t, "Limit", s.Limit, 128*mib)
	exactly(t, "OOMKill", s.OOMKill, 0)
	if !s.File.Known {
		t.Error("File is unknown")
	}
	if s.Kernel.Known && s.Kernel.Value == 0 {
		t.Error("Kernel is 0 with a process in the group")
	}
	p.end()
	after := stats(t, m).Memory
	if after.Anon.Value >= 32*mib {
		t.Errorf("Anon is %v after the end", after.Anon)
	}
	if after.Peak.Known || !g.pure() { // before Linux 5.19 version 2 has none
		atLeast(t, "Peak", after.Peak, 32*mib)
	}
	if g.pure() {
		exactly(t, "High", after.High, monitor.Unlimited)
		exactly(t, "OOM", after.OOM, 0)
	} else if after.High.Known || after.OOM.Known || after.MaxEvents.Known {
		t.Errorf("version 1 has no memory.high and no events, not %+v", after)
	}
}

func TestPidsFigures(t *testing.T) {
	g, m := open(t)
	exactly(t, "Limit of a new group", stats(t, m).Pids.Limit, monitor.Unlimited)
	g.set("pids.max", "40", "pids", "pids.max", "40")
	p := start(t, g, "fork 60")
	kids, _ := strconv.Atoi(p.work())
	if kids == 0 || kids >= 40 {
		t.Fatalf("%d processes under a limit of 40", kids)
	}
	s := stats(t, m).Pids
	exactly(t, "Limit", s.Limit, 40)
	exactly(t, "Current", s.Current, 40)
	if s.Peak.Known { // since Linux 6.1
		exactly(t, "Peak", s.Peak, 40)
	}
	atLeast(t, "MaxEvents", s.MaxEvents, 1)
	p.end()
	exactly(t, "Current after the end", stats(t, m).Pids.Current, 0)
}

func TestCPUFigures(t *testing.T) {
	g, m := open(t)
	g.set("cpu.max", "10000 100000", "cpu", "cpu.cfs_quota_us", "10000")
	p := start(t, g, "burn 80")
	used, err := strconv.ParseUint(p.work(), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	s := stats(t, m).CPU
	// The child was started outside; almost all that it used, it used inside.
	atLeast(t, "Usage", s.Usage, used/2)
	if sum := s.User.Value + s.System.Value; !s.User.Known || !s.System.Known || sum < used/2 {
		t.Errorf("User is %v and System %v, with %d µs used", s.User, s.System, used)
	}
	atLeast(t, "Periods", s.Periods, 1)
	atLeast(t, "ThrottledPeriods", s.ThrottledPeriods, 1)
	atLeast(t, "Throttled", s.Throttled, 1)
	p.end()
}

func TestIOFigures(t *testing.T) {
	g, m := open(t)
	path := filepath.Join(t.TempDir(), "out")
	var st unix.Stat_t
	if err := unix.Stat(filepath.Dir(path), &st); err != nil {
		t.Fatal(err)
	}
	if !g.pure() { // which counts only where there is a limit
		limit := fmt.Sprintf("%d:%d %d", unix.Major(st.Dev), unix.Minor(st.Dev), 1<<40)
		if err := os.WriteFile(filepath.Join(g.V1["blkio"], "blkio.throttle.write_bps_device"), []byte(limit), 0); err != nil {
			t.Skip("no disk to limit: ", err)
		}
	} else if !stats(t, m).IO.WriteBytes.Known {
		t.Skip("no io controller here")
	}
	p := start(t, g, "write "+path)
	wrote := p.work()
	s := stats(t, m).IO
	if unix.Major(st.Dev) == 0 || wrote != strconv.Itoa(mib) {
		t.Skipf("%s is not on a block device that takes direct writes: %+v", path, s)
	}
	atLeast(t, "WriteBytes", s.WriteBytes, mib)
	atLeast(t, "WriteOps", s.WriteOps, 1)
	p.end()
}

func TestSwapLimit(t *testing.T) {
	g, m := open(t)
	if !stats(t, m).Memory.SwapLimit.Known {
		t.Skip("this kernel does not account for swap")
	}
	exactly(t, "SwapLimit of a new group", stats(t, m).Memory.SwapLimit, monitor.Unlimited)
	g.set("memory.max", "64M", "memory", "memory.limit_in_bytes", "64M")
	g.set("memory.swap.max", "32M", "memory", "memory.memsw.limit_in_bytes", "96M")
	exactly(t, "SwapLimit", stats(t, m).Memory.SwapLimit, 32*mib)
}

// Pressure is known with a version 2 directory on a kernel that measures it, and there only.
func TestPressureFigures(t *testing.T) {
	g, m := open(t)
	s := stats(t, m)
	for name, p := range map[string]monitor.Pressure{"cpu": s.CPU.Pressure, "memory": s.Memory.Pressure, "io": s.IO.Pressure} {
		b, err := os.ReadFile(filepath.Join(g.V2, name+".pressure"))
		want := g.V2 != "" && err == nil
		if p.Some.Known != want || p.Full.Known != (want && strings.Contains(string(b), "full")) {
			t.Errorf("%s: %+v, with %q in the file", name, p, b)
		}
	}
}

// Every layout has its gaps: each half of a hybrid group is opened by itself, and what it lacks must be unknown.
func TestHalves(t *testing.T) {
	g := newGroup(t)
	if g.pure() || g.V2 == "" {
		t.Skip("not a hybrid machine")
	}
	look := func(h monitor.Group) monitor.Stats {
		m, err := monitor.Open(h)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		return stats(t, m)
	}
	two := look(monitor.Group{V2: g.V2})
	if two.Memory.Usage.Known || two.Memory.OOMKill.Known || two.Pids.Current.Known || two.CPU.Periods.Known || two.IO.ReadOps.Known || !two.CPU.Usage.Known {
		t.Errorf("a version 2 tree without controllers: %+v", two)
	}
	one := look(monitor.Group{V1: g.V1})
	if !one.Memory.Usage.Known || !one.CPU.Usage.Known || !one.CPU.User.Known || one.CPU.Pressure.Some.Known || one.IO.ReadBytes.Known {
		t.Errorf("version 1 alone: %+v", one)
	}
	memory := look(monitor.Group{V1: map[string]string{"memory": g.V1["memory"], "devices": "/no/such"}})
	if !memory.Memory.Usage.Known || memory.Pids.Current.Known || memory.CPU.Usage.Known {
		t.Errorf("version 1's memory alone: %+v", memory)
	}
}

func TestRemoved(t *testing.T) {
	g, m := open(t)
	g.remove()
	if _, err := m.Stats(); !errors.Is(err, monitor.ErrRemoved) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stats of a removed group: %v", err)
	}
	if _, err := m.Events(t.Context()); !errors.Is(err, monitor.ErrRemoved) {
		t.Errorf("Events of a removed group: %v", err)
	}
	for _, d := range g.dirs() { // another group of the same name is another group
		if err := os.Mkdir(d, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { // cpu and cpuacct may be one hierarchy
			t.Fatal(err)
		}
	}
	if _, err := m.Stats(); !errors.Is(err, monitor.ErrRemoved) {
		t.Errorf("Stats of a removed group whose name is taken: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	before := descriptors(t)
	tmp := t.TempDir()
	for name, c := range map[string]struct {
		g    monitor.Group
		want string
	}{
		"nothing":      {monitor.Group{}, "Group names no directory"},
		"other keys":   {monitor.Group{V1: map[string]string{"freezer": tmp}}, "Group names no directory"},
		"relative":     {monitor.Group{V2: "a\x1bb"}, `Group.V2: "a\x1bb": not an absolute path`},
		"absent":       {monitor.Group{V2: tmp + "/no"}, "no such file or directory: give the directory of a group that exists"},
		"no cgroup":    {monitor.Group{V2: tmp}, "not in a control group file system of this version"},
		"no v1 cgroup": {monitor.Group{V1: map[string]string{"memory": tmp}}, "Group.V1[memory]"},
	} {
		if _, err := monitor.Open(c.g); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, expected %s", name, err, c.want)
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestFigure(t *testing.T) {
	for _, c := range []struct {
		f            monitor.Figure
		text, inJSON string
	}{
		{monitor.Figure{}, "unknown", "null"},
		{monitor.Figure{Known: true}, "0", "0"},
		{monitor.Figure{Value: 7, Known: true}, "7", "7"},
		{monitor.Figure{Value: monitor.Unlimited, Known: true}, "max", `"max"`},
	} {
		b, err := json.Marshal(c.f)
		if c.f.String() != c.text || string(b) != c.inJSON || err != nil {
			t.Errorf("%#v: %s, %s, %v", c.f, c.f, b, err)
		}
	}
}
