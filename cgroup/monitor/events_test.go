package monitor_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/cgroup/monitor"
)

// patience bounds the waiting for an event that never comes; nothing is measured with it.
const patience = 20 * time.Second

func events(t *testing.T, m *monitor.Monitor) (*monitor.Stream[monitor.Event], context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s, err := m.Events(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		drain(s)
	})
	return s, cancel
}

func drain[T any](s *monitor.Stream[T]) {
	for range s.C {
	}
}

// await takes events until all of the wanted kinds have come, in any order.
func await(t *testing.T, s *monitor.Stream[monitor.Event], want ...monitor.Kind) {
	t.Helper()
	late := time.After(patience)
	var seen []monitor.Event
	for len(want) > 0 {
		select {
		case e, ok := <-s.C:
			if !ok {
				t.Fatalf("the stream ended with %v after %v, waiting for %v", s.Err(), seen, want)
			}
			if e.Count == 0 {
				t.Errorf("%v has not happened", e)
			}
			seen = append(seen, e)
			want = slices.DeleteFunc(want, func(k monitor.Kind) bool { return k == e.Kind })
		case <-late:
			t.Fatalf("only %v, waiting for %v", seen, want)
		}
	}
}

// needs skips where the layout cannot tell of a kind.
func needs(t *testing.T, m *monitor.Monitor, kinds ...monitor.Kind) {
	t.Helper()
	for _, k := range kinds {
		if !slices.Contains(m.Kinds(), k) {
			t.Skipf("no %v in this layout: only %v", k, m.Kinds())
		}
	}
}

func TestKinds(t *testing.T) {
	g, m := open(t)
	want := []monitor.Kind{monitor.OOM, monitor.OOMKill, monitor.MemoryHigh, monitor.MemoryMax, monitor.PidsMax, monitor.Populated, monitor.Empty}
	if !g.pure() {
		want = []monitor.Kind{monitor.OOM, monitor.OOMKill, monitor.PidsMax}
		if g.V2 != "" {
			want = append(want, monitor.Populated, monitor.Empty)
		}
	}
	if got := m.Kinds(); !slices.Equal(got, want) {
		t.Errorf("%v, expected %v", got, want)
	}
}

func TestOOMEvents(t *testing.T) {
	g, m := open(t)
	g.set("memory.max", "24M", "memory", "memory.limit_in_bytes", "24M")
	if stats(t, m).Memory.Swap.Known && g.pure() {
		g.set("memory.swap.max", "0", "", "", "")
	}
	s, _ := events(t, m)
	p := start(t, g, "allocate 256")
	if line := p.work(); line != "" {
		t.Fatalf("256 MiB were allocated with a limit of 24 MiB: %s", line)
	}
	await(t, s, monitor.OOM, monitor.OOMKill)
	p.end()
	atLeast(t, "OOMKill", stats(t, m).Memory.OOMKill, 1)
}

func TestMemoryEvents(t *testing.T) {
	g, m := open(t)
	needs(t, m, monitor.MemoryHigh, monitor.MemoryMax)
	g.set("memory.high", "16M", "", "", "")
	g.set("memory.max", "20M", "", "", "")
	s, _ := events(t, m)
	p := start(t, g, "allocate 64")
	if _, err := p.in.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	await(t, s, monitor.MemoryHigh)
	g.set("memory.high", "max", "", "", "") // which makes it slow without end
	await(t, s, monitor.MemoryMax)
}

func TestPidsEvents(t *testing.T) {
	g, m := open(t)
	needs(t, m, monitor.PidsMax)
	g.set("pids.max", "30", "pids", "pids.max", "30")
	s, _ := events(t, m)
	p := start(t, g, "fork 60")
	p.work()
	await(t, s, monitor.PidsMax)
	p.end()
}

func TestPopulated(t *testing.T) {
	g, m := open(t)
	needs(t, m, monitor.Populated)
	s, _ := events(t, m)
	p := start(t, g, "nothing")
	await(t, s, monitor.Populated)
	late, _ := events(t, m)
	await(t, late, monitor.Populated) // which it is told at once
	p.end()
	await(t, s, monitor.Empty)
	await(t, late, monitor.Empty)
}

// Whoever waits for the end of a group's processes must get it, however short they lived.
func TestEmptyIsNeverMissed(t *testing.T) {
	g, m := open(t)
	needs(t, m, monitor.Empty)
	s, _ := events(t, m)
	for range 20 {
		start(t, g, "nothing").end()
		await(t, s, monitor.Empty)
	}
}

// A reader that does not read gets what happened in few events, the last state last.
func TestSlowReader(t *testing.T) {
	g, m := open(t)
	needs(t, m, monitor.Populated)
	s, cancel := events(t, m)
	watcher, _ := events(t, m)
	for range 10 {
		p := start(t, g, "nothing")
		await(t, watcher, monitor.Populated)
		p.end()
		await(t, watcher, monitor.Empty)
	}
	p := start(t, g, "nothing")
	await(t, watcher, monitor.Populated)
	defer p.end()
	late := time.After(patience)
	var seen []monitor.Event
	for last := monitor.Empty; last != monitor.Populated || !slices.ContainsFunc(seen, empty); {
		select {
		case e := <-s.C:
			seen = append(seen, e)
			last = e.Kind
		case <-late:
			t.Fatal("no last Populated: ", seen)
		}
	}
	if len(seen) > 4 || seen[0].Count+seen[1].Count < 10 {
		t.Errorf("%v, expected few events that stand for many", seen)
	}
	cancel()
}

func empty(e monitor.Event) bool { return e.Kind == monitor.Empty }

func TestRemovalEndsTheStream(t *testing.T) {
	for _, only := range []string{"all", "V2", "pids"} {
		g := newGroup(t)
		part := map[string]monitor.Group{"all": g.Group, "V2": {V2: g.V2}, "pids": {V1: map[string]string{"pids": g.V1["pids"]}}}[only]
		m, err := monitor.Open(part)
		if err != nil && only != "all" {
			continue // not in this layout
		} else if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		s, _ := events(t, m)
		g.remove()
		closed(t, s, monitor.ErrRemoved)
	}
}

// closed waits for the end of a stream.
func closed[T any](t *testing.T, s *monitor.Stream[T], want error) {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case _, ok := <-s.C:
			if ok {
				continue
			}
			if !errors.Is(s.Err(), want) {
				t.Errorf("ended with %v, expected %v", s.Err(), want)
			}
			return
		case <-late:
			t.Fatal("the stream does not end")
		}
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// behind says whether goroutines of the package are left.
func behind() bool {
	buf := make([]byte, 1<<20)
	return strings.Contains(string(buf[:runtime.Stack(buf, true)]), "brig/cgroup/monitor.(*")
}

// A stream that has ended leaves nothing, whether or not anybody read what it had to say.
func TestNothingIsLeft(t *testing.T) {
	g, m := open(t)
	start(t, g, "nothing") // so that an event is waiting
	before := descriptors(t)
	why := errors.New("enough")
	for range 50 {
		ctx, cancel := context.WithCancelCause(t.Context())
		s, err := m.Events(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if s.Err() != nil {
			t.Fatal("an error before the end: ", s.Err())
		}
		cancel(why)
		closed(t, s, why)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	for deadline := time.Now().Add(patience); behind(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("goroutines are left")
		}
	}
}

// Streams outlive their Monitor.
func TestCloseUnderAStream(t *testing.T) {
	g := newGroup(t)
	m, err := monitor.Open(g.Group)
	if err != nil {
		t.Fatal(err)
	}
	needs(t, m, monitor.Populated)
	s, _ := events(t, m)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	p := start(t, g, "nothing")
	await(t, s, monitor.Populated)
	p.end()
	await(t, s, monitor.Empty)
	g.remove()
	closed(t, s, monitor.ErrRemoved)
}
