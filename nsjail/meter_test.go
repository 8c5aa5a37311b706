package nsjail

import (
	"testing"
	"time"
)

// TestMeter: what is above the limit does not pass, and ends the jail once it is there.
func TestMeter(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limit  int64
		pieces []int
		passed int
		ended  int
	}{
		{"no limit", 0, []int{1 << 20, 5}, 1<<20 + 5, 0},
		{"below the limit", 10, []int{4, 5}, 9, 0},
		{"at the limit", 10, []int{4, 6}, 10, 0},
		{"above the limit", 10, []int{4, 7}, 10, 1},
		{"all of a piece is too much", 10, []int{10, 1}, 10, 1},
		{"and more", 10, []int{11, 5, 5}, 10, 3},
		{"nothing", 10, []int{0}, 0, 0},
	} {
		ended := 0
		m := &meter{limit: tt.limit, end: func(why cause) {
			if why == endedOutput {
				ended++
			}
		}}
		passed := 0
		for _, n := range tt.pieces {
			passed += m.count(n)
		}
		if passed != tt.passed || ended != tt.ended || m.over.Load() != (tt.ended > 0) {
			t.Errorf("%s: %d passed, ended %d times, over %v", tt.name, passed, ended, m.over.Load())
		}
	}
}

// TestMeterKnowsSilence: output counts only if somebody waits for it.
func TestMeterKnowsSilence(t *testing.T) {
	for _, idle := range []time.Duration{0, time.Second} {
		m := &meter{idle: idle, began: time.Now().Add(-time.Hour)}
		if q := m.quiet(); q < time.Hour {
			t.Errorf("silent for %s", q)
		}
		m.count(1)
		if q := m.quiet(); (q < time.Minute) != (idle > 0) {
			t.Errorf("idle %s: after output silent for %s", idle, q)
		}
	}
}

// TestPhases: each phase lasts from its moment to the next, and the wall clock of a jail with a prefix begins first.
func TestPhases(t *testing.T) {
	var at times
	began := time.Now().Add(-time.Hour)
	for m := range at {
		at[m] = began.Add(time.Duration(m*m) * time.Millisecond)
	}
	p := at.phases()
	if p.Look != 1000 || p.Resolve != 3000 || p.Prepare != 5000 || p.Spawn != 7000 || p.Exec != 9000 || p.Run != 11000 || p.End < 3.5e9 {
		t.Errorf("%+v", p)
	}
	if at.wall(true) != 36*time.Millisecond || at.wall(false) != 27*time.Millisecond {
		t.Errorf("%s with a prefix, %s without", at.wall(true), at.wall(false))
	}
}
