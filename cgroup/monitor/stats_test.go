package monitor_test

import (
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

func stats(t *testing.T, g *testGroup) *monitor.Stats {
	t.Helper()
	s, err := monitor.Read(g.Group)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// atLeast checks that a figure is known and large enough.
func atLeast(t *testing.T, name string, f *uint64, least uint64) {
	t.Helper()
	if f == nil || *f < least || *f > 1<<50 {
		t.Errorf("%s is %v, expected at least %d", name, text(f), least)
	}
}

func exactly(t *testing.T, name string, f *uint64, want uint64) {
	t.Helper()
	if f == nil || *f != want {
		t.Errorf("%s is %v, expected %d", name, text(f), want)
	}
}

func text(f *uint64) string {
	if f == nil {
		return "unknown"
	}
	return strconv.FormatUint(*f, 10)
}

func TestMemoryFigures(t *testing.T) {
	g := newGroup(t)
	if s := stats(t, g); s.MemoryLimit != nil {
		t.Errorf("limit of a new group: %d", *s.MemoryLimit)
	}
	g.set("memory.max", "128M", "memory", "memory.limit_in_bytes", "128M")
	p := start(t, g, "allocate 32")
	p.work()
	s := stats(t, g)
	atLeast(t, "Memory", s.Memory, 32*mib)
	exactly(t, "MemoryLimit", s.MemoryLimit, 128*mib)
	exactly(t, "OOMKill", s.OOMKill, 0)
	p.end()
	after := stats(t, g)
	if after.MemoryPeak != nil || !g.pure() { // before Linux 5.19 version 2 has none
		atLeast(t, "MemoryPeak", after.MemoryPeak, 32*mib)
	}
	if g.pure() {
		exactly(t, "OOM", after.OOM, 0)
	} else if after.OOM != nil {
		t.Errorf("version 1 does not count failed allocations, not %d", *after.OOM)
	}
}

// What dies at the limit is counted.
func TestOOMFigures(t *testing.T) {
	g := newGroup(t)
	g.set("memory.max", "32M", "memory", "memory.limit_in_bytes", "32M")
	if stats(t, g).Swap != nil {
		g.set("memory.swap.max", "0", "memory", "memory.memsw.limit_in_bytes", "32M")
	}
	p := start(t, g, "allocate 64")
	if said := p.work(); said != "" {
		t.Skipf("the child had %s MiB under a limit of 32", said)
	}
	p.end()
	s := stats(t, g)
	if s.OOMKill != nil || g.pure() { // before Linux 4.13 version 1 has none
		atLeast(t, "OOMKill", s.OOMKill, 1)
	}
	if g.pure() {
		atLeast(t, "OOM", s.OOM, 1)
	}
}

func TestPidsFigures(t *testing.T) {
	g := newGroup(t)
	if s := stats(t, g); s.TaskLimit != nil {
		t.Errorf("limit of a new group: %d", *s.TaskLimit)
	}
	g.set("pids.max", "40", "pids", "pids.max", "40")
	p := start(t, g, "fork 60")
	kids, _ := strconv.Atoi(p.work())
	if kids == 0 || kids >= 40 {
		t.Fatalf("%d processes under a limit of 40", kids)
	}
	s := stats(t, g)
	exactly(t, "TaskLimit", s.TaskLimit, 40)
	exactly(t, "Tasks", s.Tasks, 40)
	atLeast(t, "TaskFails", s.TaskFails, 1)
	p.end()
	exactly(t, "Tasks after the end", stats(t, g).Tasks, 0)
}

func TestCPUFigures(t *testing.T) {
	g := newGroup(t)
	g.set("cpu.max", "10000 100000", "cpu", "cpu.cfs_quota_us", "10000")
	p := start(t, g, "burn 80")
	used, err := strconv.ParseUint(p.work(), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	s := stats(t, g)
	// The child was started outside; almost all that it used, it used inside.
	atLeast(t, "CPU", s.CPU, used/2)
	if s.CPUUser == nil || s.CPUSystem == nil || *s.CPUUser+*s.CPUSystem < used/2 {
		t.Errorf("user %s and system %s, with %d µs used", text(s.CPUUser), text(s.CPUSystem), used)
	}
	atLeast(t, "Throttled", s.Throttled, 1)
	p.end()
}

func TestIOFigures(t *testing.T) {
	g := newGroup(t)
	path := filepath.Join(t.TempDir(), "out")
	var st unix.Stat_t
	if err := unix.Stat(filepath.Dir(path), &st); err != nil {
		t.Fatal(err)
	}
	if !g.pure() { // which counts only where there is a limit
		limit := fmt.Sprintf("%d:%d %d", unix.Major(st.Dev), unix.Minor(st.Dev), 1<<40)
		if err := os.WriteFile(filepath.Join(g.V1["blkio"], "blkio.throttle.write_bps_device"), []byte(limit),
			0); err != nil {
			t.Skip("no disk to limit: ", err)
		}
	} else if stats(t, g).Written == nil {
		t.Skip("no io controller here")
	}
	p := start(t, g, "write "+path)
	wrote := p.work()
	s := stats(t, g)
	if unix.Major(st.Dev) == 0 || wrote != strconv.Itoa(mib) {
		t.Skipf("%s is not on a block device that takes direct writes: %+v", path, s)
	}
	atLeast(t, "Written", s.Written, mib)
	p.end()
}

// Every layout has its gaps: each half of a hybrid group is opened by itself, and what it lacks must be unknown.
func TestHalves(t *testing.T) {
	g := newGroup(t)
	if g.pure() || g.V2 == "" {
		t.Skip("not a hybrid machine")
	}
	look := func(h monitor.Group) *monitor.Stats { return stats(t, &testGroup{h, t}) }
	two := look(monitor.Group{V2: g.V2})
	if two.Memory != nil || two.OOMKill != nil || two.Tasks != nil || two.Throttled != nil || two.Read != nil ||
		two.CPU == nil {
		t.Errorf("a version 2 tree without controllers: %+v", two)
	}
	one := look(monitor.Group{V1: g.V1})
	if one.Memory == nil || one.CPU == nil || one.CPUUser == nil || one.Read != nil {
		t.Errorf("version 1 alone: %+v", one)
	}
	memory := look(monitor.Group{V1: map[string]string{"memory": g.V1["memory"], "devices": "/no/such"}})
	if memory.Memory == nil || memory.Tasks != nil || memory.CPU != nil {
		t.Errorf("version 1's memory alone: %+v", memory)
	}
}

func TestRemoved(t *testing.T) {
	g := newGroup(t)
	g.remove()
	if _, err := monitor.Read(g.Group); !errors.Is(err, monitor.ErrRemoved) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed group: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	tmp := t.TempDir()
	for name, c := range map[string]struct {
		g    monitor.Group
		want string
	}{
		"nothing":      {monitor.Group{}, "Group names no directory"},
		"other keys":   {monitor.Group{V1: map[string]string{"freezer": tmp}}, "Group names no directory"},
		"relative":     {monitor.Group{V2: "a\x1bb"}, `Group.V2: "a\x1bb": not an absolute path`},
		"absent":       {monitor.Group{V2: tmp + "/no"}, "the control group was removed"},
		"no cgroup":    {monitor.Group{V2: tmp}, "not in a control group file system of this version"},
		"no v1 cgroup": {monitor.Group{V1: map[string]string{"memory": tmp}}, "Group.V1[memory]"},
	} {
		if _, err := monitor.Read(c.g); err == nil || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, expected %s", name, err, c.want)
		}
	}
}
