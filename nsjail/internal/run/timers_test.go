package run

import (
	"testing"
	"time"
)

// No timer fires after the end, and none is set.
func TestTimers(t *testing.T) {
	var ts Timers
	fired := make(chan string, 3)
	ts.Start(&ts.Wall, time.Millisecond, func() { fired <- "wall" })
	if got := <-fired; got != "wall" {
		t.Error(got)
	}
	ts.Start(&ts.Idle, time.Hour, func() { fired <- "idle" })
	ts.End()
	if ts.Idle.Stop() {
		t.Error("a timer goes on after the end")
	}
	ts.Start(&ts.CPU, time.Nanosecond, func() { fired <- "cpu" })
	if ts.CPU != nil {
		t.Error("a timer was set after the end")
	}
}

// nothing fails if a channel has something.
func nothing(t *testing.T, what string, fired chan string) {
	t.Helper()
	select {
	case got := <-fired:
		t.Errorf("%s: %s has fired", what, got)
	default:
	}
}

// While it is held the wall clock stands still: it has as much left afterwards as before.
func TestHold(t *testing.T) {
	var ts Timers
	defer ts.End()
	fired := make(chan string, 3)
	if ts.Release() != 0 || ts.Held() {
		t.Error("it has stood still before it was held")
	}
	ts.StartWall(time.Hour, func() { fired <- "wall" })
	before := ts.end
	if ts.Hold(); !ts.Held() || ts.Wall.Stop() {
		t.Error("it goes on")
	}
	since := ts.held
	if ts.Hold(); ts.held != since {
		t.Error("a second Hold forgets the first")
	}
	still := ts.Release()
	if still <= 0 || !ts.end.Equal(before.Add(still)) || ts.Held() || !ts.Wall.Stop() {
		t.Errorf("held for %s, it ends %s later, and is held: %v", still, ts.end.Sub(before), ts.Held())
	}
	if ts.Release() != 0 {
		t.Error("it is released twice")
	}
	nothing(t, "released", fired)
	ts.Hold()
	ts.end = time.Now().Add(-time.Hour) // nothing was left of it
	ts.Release()
	if got := waited(t, fired); got != "wall" {
		t.Error(got)
	}
}

// A clock that is set while it is held begins when it is released.
func TestHoldBeforeTheStart(t *testing.T) {
	var ts Timers
	fired := make(chan string, 3)
	ts.Hold()
	ts.held = ts.held.Add(-time.Hour) // for long
	ts.StartWall(time.Nanosecond, func() { fired <- "wall" })
	if ts.Wall.Stop() {
		t.Error("it goes already")
	}
	for len(fired) > 0 { // it may have gone off before it was stopped
		<-fired
	}
	if left := ts.end.Sub(ts.held); left != time.Nanosecond {
		t.Errorf("%s are left", left)
	}
	ts.Release()
	if left := time.Until(ts.end); left > time.Second || left < -10*time.Second {
		t.Errorf("%s are left after the release", left)
	}
	if got := waited(t, fired); got != "wall" {
		t.Error(got)
	}
	ts.End()
	if ts.Hold(); ts.Held() || ts.Release() != 0 {
		t.Error("a clock is held after the end")
	}
}
