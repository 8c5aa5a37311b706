package monitor_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brig/cgroup/monitor"
)

// trigger is one that every caller may set: a window of 2 s.
func trigger() monitor.Trigger {
	return monitor.Trigger{Resource: "cpu", Stall: 10 * time.Millisecond, Window: 2 * time.Second}
}

func alarms(t *testing.T, g *testGroup, m *monitor.Monitor) (*monitor.Stream[struct{}], context.CancelCauseFunc) {
	t.Helper()
	if _, err := os.ReadFile(filepath.Join(g.V2, "cpu.pressure")); g.V2 == "" || err != nil {
		t.Skip("no pressure files here: ", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	s, err := m.Pressure(ctx, trigger())
	if err != nil {
		t.Fatal(err)
	}
	return s, cancel
}

func TestPressureAlarm(t *testing.T) {
	g, m := open(t)
	s, cancel := alarms(t, g, m)
	g.set("cpu.max", "20000 100000", "cpu", "cpu.cfs_quota_us", "20000") // whoever is throttled waits for CPU time
	start(t, g, "burn 60000").in.Write([]byte("go\n"))
	select {
	case _, ok := <-s.C:
		if !ok {
			t.Fatal(s.Err())
		}
	case <-time.After(patience):
		t.Fatalf("no alarm: %+v", stats(t, m).CPU.Pressure)
	}
	if p := stats(t, m).CPU.Pressure.Some; !p.Known || p.Total < 10_000 {
		t.Errorf("an alarm with %+v", p)
	}
	cancel(context.Canceled)
	closed(t, s, context.Canceled)
}

func TestPressureEnds(t *testing.T) {
	g, m := open(t)
	before := descriptors(t)
	for range 20 {
		s, cancel := alarms(t, g, m)
		cancel(os.ErrDeadlineExceeded)
		closed(t, s, os.ErrDeadlineExceeded)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	s, _ := alarms(t, g, m)
	g.remove()
	closed(t, s, monitor.ErrRemoved)
}

func TestPressureRefuses(t *testing.T) {
	_, m := open(t)
	for name, c := range map[string]struct {
		change func(*monitor.Trigger)
		want   string
	}{
		"resource": {func(t *monitor.Trigger) { t.Resource = "irq\n" }, `Trigger.Resource: "irq\n" has no pressure`},
		"short":    {func(t *monitor.Trigger) { t.Window = time.Millisecond }, "Trigger.Window: 1ms"},
		"long":     {func(t *monitor.Trigger) { t.Window = time.Minute }, "Trigger.Window: 1m0s"},
		"zero":     {func(t *monitor.Trigger) { t.Stall = 0 }, "Trigger.Stall: 0s"},
		"negative": {func(t *monitor.Trigger) { t.Stall = -time.Second }, "Trigger.Stall: -1s"},
		"stall":    {func(t *monitor.Trigger) { t.Stall = 3 * time.Second }, "Trigger.Stall: 3s"},
	} {
		tr := trigger()
		c.change(&tr)
		if _, err := m.Pressure(t.Context(), tr); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %s", name, err, c.want)
		}
	}
}
