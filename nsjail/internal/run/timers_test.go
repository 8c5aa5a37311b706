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
	ts.Start(&ts.Idle, 50*time.Millisecond, func() { fired <- "idle" })
	ts.End()
	ts.Start(&ts.CPU, time.Millisecond, func() { fired <- "cpu" })
	if ts.CPU != nil {
		t.Error("a timer was set after the end")
	}
	select {
	case got := <-fired:
		t.Errorf("%s fired after the end", got)
	case <-time.After(100 * time.Millisecond):
	}
}
