package cgroup

import (
	"slices"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
)

// TestStats does some work in a group and reads what it has cost.
func TestStats(t *testing.T) {
	l, _ := yard(t)
	w := all(l)
	if w.Memory > 0 && w.CPUWeight > 0 {
		w.CPUQuota, w.CPUWeight = 20*time.Millisecond, 0
	}
	g := makeGroup(t, l, w)
	before := g.Read()
	c := spawn(t, -1, "allocate", "32")
	c.line(t)
	putIn(t, g, c.Process.Pid)
	must.Get(c.in.Write([]byte{1}))(t)
	c.line(t)
	spin := spawn(t, -1, "spin", "")
	spin.line(t)
	putIn(t, g, spin.Process.Pid)
	eventually(t, "time is used", func() bool { return g.CPUUsage() > 100*time.Millisecond })
	if w.CPUQuota > 0 { // on a busy machine the process gets less than its quota for a while
		eventually(t, "the quota is met", func() bool { return g.Read().ThrottledPeriods > 0 })
	}
	s := g.Read()
	if s.CPU < 100*time.Millisecond || s.CPU <= before.CPU || s.User < 0 || s.User+s.System > s.CPU+50*time.Millisecond {
		t.Errorf("%+v", s)
	}
	if w.Memory > 0 && (s.MemoryPeak < 32<<20 || s.OOMKills != 0) {
		t.Errorf("%+v", s)
	}
	if w.Processes > 0 && (s.ProcessesRefused != 0 || s.PidsPeak == 0) {
		t.Errorf("%+v", s)
	}
	if w.CPUQuota > 0 && (s.Throttled <= 0 || s.Periods < 1 || s.ThrottledPeriods < 1 || s.ThrottledPeriods > s.Periods) {
		t.Errorf("%+v", s)
	}
	t.Logf("%+v", s)
}

// TestProcessesRefused: the counter shows that fork(2) has met the limit.
func TestProcessesRefused(t *testing.T) {
	l, _ := yard(t)
	g := makeGroup(t, l, &Limits{Processes: 1})
	c := spawn(t, -1, "fork", "")
	c.line(t)
	putIn(t, g, c.Process.Pid)
	eventually(t, "a fork is refused", func() bool { return g.Read().ProcessesRefused > 0 })
	atLeast(t, "TaskFails", g.Live().TaskFails, 1)
}

// TestOOM: WatchOOM reports a group that exceeds its limit on memory, and no other group.
func TestOOM(t *testing.T) {
	l, _ := yard(t)
	g := makeGroup(t, l, &Limits{Memory: 64 << 20, Swap: Swap{Set: true, Implied: true}})
	neighbour := makeGroup(t, l, &Limits{Memory: 64 << 20})
	told := make(chan struct{}, 10)
	stop := must.Get(g.WatchOOM(func() { told <- struct{}{} }))(t)
	stopOther := must.Get(neighbour.WatchOOM(func() { t.Error("the neighbour is told of it") }))(t)
	victims := []*child{spawn(t, -1, "allocate", "200"), spawn(t, -1, "wait", "")}
	other := spawn(t, -1, "allocate", "20")
	for i, c := range append(victims, other) {
		c.line(t)
		putIn(t, []*Group{g, g, neighbour}[i], c.Process.Pid)
	}
	for _, c := range []*child{other, victims[0]} {
		must.Get(c.in.Write([]byte{1}))(t)
	}
	other.line(t)
	if err := victims[0].finish(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("%v %s", err, victims[0].errs.String())
	}
	if stop != nil { // version 1 kills one, and tells
		<-told
		if err := g.Kill(); err != nil {
			t.Error(err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
	if err := victims[1].finish(); err == nil { // version 2 kills all: memory.oom.group
		t.Error("the second process of the group lives")
	}
	if s := g.Read(); s.OOMKills < 1 || s.OOMOwn < 1 || s.MemoryPeak < 60<<20 {
		t.Errorf("%+v", s)
	}
	u := g.Live()
	atLeast(t, "OOMKill", u.OOMKill, 1)
	if slices.Contains(l.Enabled, "memory") {
		atLeast(t, "OOM", u.OOM, 1)
	}
	if s := neighbour.Read(); s.OOMKills != 0 || s.OOMOwn > 0 {
		t.Errorf("the neighbour: %+v", s)
	}
	if stopOther != nil {
		if err := stopOther(); err != nil {
			t.Error(err)
		}
	}
	if err := other.finish(); err != nil {
		t.Error(err)
	}
}

// TestOOMAbove: where the limit of a group above is the cause, the group's own has not been met, and its counter shows
// that.
func TestOOMAbove(t *testing.T) {
	l, _ := yard(t)
	above := makeGroup(t, l, &Limits{Memory: 48 << 20, NoOOMGroup: true, Swap: Swap{Set: true, Implied: true}})
	inner := *l
	v2, v1 := above.Dirs()
	if slices.Contains(l.Enabled, "memory") {
		inner.Dir, inner.Subtree, inner.Controllers = v2, []string{"memory"}, nil
		must.Do(t, enableAt(v2, "+memory"))
	} else {
		inner.Dir, inner.Enabled, inner.Controllers = "", nil, map[string]string{"memory": v1["memory"]}
	}
	g := makeGroup(t, &inner, &Limits{Memory: 1 << 30})
	told := make(chan struct{}, 1)
	stop := must.Get(g.WatchOOM(func() { told <- struct{}{} }))(t)
	sister := makeGroup(t, &inner, &Limits{Memory: 1 << 30}) // the kernel wakes every group below the one that is full
	stopSister := must.Get(sister.WatchOOM(func() { t.Error("a group is told of another's loss") }))(t)
	c := spawn(t, -1, "allocate", "200")
	c.line(t)
	putIn(t, g, c.Process.Pid)
	must.Get(c.in.Write([]byte{1}))(t)
	if err := c.finish(); err == nil {
		t.Error("the process lives")
	}
	if stopSister != nil {
		time.Sleep(10 * time.Millisecond) // for what must not come; it need not be enough
		if err := stopSister(); err != nil {
			t.Error(err)
		}
	}
	if stop != nil {
		<-told
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
	if s := g.Read(); s.OOMKills < 1 || s.OOMOwn != 0 {
		t.Errorf("%+v", s)
	}
}
