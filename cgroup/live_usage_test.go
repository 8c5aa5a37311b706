package cgroup

import (
	"strconv"
	"testing"
	"time"

	"brig/internal/test/must"
)

func figure(f *uint64) string {
	if f == nil {
		return "unknown"
	}
	return strconv.FormatUint(*f, 10)
}

// atLeast checks that a figure is known and large enough.
func atLeast(t *testing.T, name string, f *uint64, least uint64) {
	t.Helper()
	if f == nil || *f < least || *f > 1<<50 {
		t.Errorf("%s is %s, expected at least %d", name, figure(f), least)
	}
}

func exactly(t *testing.T, name string, f *uint64, want uint64) {
	t.Helper()
	if f == nil || *f != want {
		t.Errorf("%s is %s, expected %d", name, figure(f), want)
	}
}

// TestLiveUsage does some work in a group and reads its figures while it goes on.
func TestLiveUsage(t *testing.T) {
	l, _ := yard(t)
	w := all(l)
	if w.Memory > 0 && w.CPUWeight > 0 {
		w.CPUQuota, w.CPUWeight = 20*time.Millisecond, 0
	}
	g := makeGroup(t, l, w)
	c, spin := spawn(t, -1, "allocate", "32"), spawn(t, -1, "spin", "")
	c.line(t)
	putIn(t, g, c.Process.Pid)
	c.tell(t)
	c.line(t)
	spin.line(t)
	putIn(t, g, spin.Process.Pid)
	eventually(t, "time is used", func() bool { u := g.Live(); return u.CPU != nil && *u.CPU > 100_000 })
	u := g.Live()
	if u.CPUUser == nil || u.CPUSystem == nil || *u.CPUUser+*u.CPUSystem < 50_000 {
		t.Errorf("user %s and system %s", figure(u.CPUUser), figure(u.CPUSystem))
	}
	if w.Memory > 0 {
		atLeast(t, "Memory", u.Memory, 32<<20)
		exactly(t, "MemoryLimit", u.MemoryLimit, uint64(w.Memory))
		exactly(t, "OOMKill", u.OOMKill, 0)
	}
	if w.Processes > 0 {
		atLeast(t, "Tasks", u.Tasks, 2)
		exactly(t, "TaskLimit", u.TaskLimit, uint64(w.Processes))
		exactly(t, "TaskFails", u.TaskFails, 0)
	}
	if w.CPUQuota > 0 {
		eventually(t, "the quota is met", func() bool { u := g.Live(); return u.Throttled != nil && *u.Throttled > 0 })
	}
	if v2, _ := g.Dirs(); v2 == "" && u.OOM != nil {
		t.Errorf("version 1 does not count failed allocations, not %d", *u.OOM)
	}
}

// TestLiveUsageHasGaps: what a layout lacks is unknown, and no limit is none.
func TestLiveUsageHasGaps(t *testing.T) {
	l, _ := yard(t)
	u := makeGroup(t, l, &Limits{CPUTime: true}).Live()
	if u.CPU == nil || u.MemoryLimit != nil || u.TaskLimit != nil || u.TaskFails != nil && *u.TaskFails != 0 {
		t.Errorf("a group without a limit: CPU %s, MemoryLimit %s, TaskLimit %s", figure(u.CPU), figure(u.MemoryLimit),
			figure(u.TaskLimit))
	}
	if l.Mode == Hybrid && l.Controllers["cpuacct"] != l.Controllers["memory"] && u.Memory != nil {
		t.Errorf("memory that no controller counts: %d", *u.Memory)
	}
}

// TestLiveUsageReads: the texts of a kernel.
func TestLiveUsageReads(t *testing.T) {
	for in, known := range map[string]bool{"0\n": true, "1073741824\n": true, "max\n": false, "18446744073709551615\n": false,
		"9223372036854775807\n": false, "9223372036854771712\n": false, "9223372036854710272\n": false, "x\n": false} {
		v1 := invented(t, 1, map[string]string{"memory.limit_in_bytes": in, "memory.stat": "cache 1\ntotal_swap 8192\n"})
		v2 := invented(t, 2, map[string]string{"memory.max": in, "pids.max": in, "memory.events": "low 0\noom 3\n",
			"memory.swap.current": "4096\n"})
		var one, two LiveUsage
		v1.readLive(&one)
		v2.readLive(&two)
		for name, f := range map[string]*uint64{"version 1": one.MemoryLimit, "version 2": two.MemoryLimit, "pids": two.TaskLimit} {
			if (f != nil) != known || f != nil && figure(f)+"\n" != in {
				t.Errorf("%s: %q is %s", name, in, figure(f))
			}
		}
		exactly(t, "OOM", two.OOM, 3)
		exactly(t, "Swap of version 2", two.Swap, 4096)
		exactly(t, "Swap of version 1", one.Swap, 8192)
		if one.OOM != nil || one.Memory != nil {
			t.Errorf("%+v", one)
		}
	}
}

// TestLiveUsageOfAGroupThatIsGone: removed by its keeper, or by somebody else.
func TestLiveUsageOfAGroupThatIsGone(t *testing.T) {
	l, _ := yard(t)
	p := Resolve(&Limits{CPUTime: true}, l)
	for name, remove := range map[string]func(g *Group) error{"keeper": (*Group).Remove, "other": func(g *Group) error {
		for _, d := range g.dirs {
			if err := d.rmdir(); err != nil {
				return err
			}
		}
		return nil
	}} {
		g := must.Get(p.Create())(t)
		if g.Live() == nil {
			t.Errorf("%s: no figures of a group that exists", name)
		}
		must.Do(t, remove(g))
		if u := g.Live(); u != nil {
			t.Errorf("%s: %+v", name, u)
		}
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	}
}
