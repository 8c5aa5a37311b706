package idle

import (
	"errors"
	"testing"
	"time"
)

// still is what a Clock freezes.
type still struct {
	states chan bool
	err    error
}

func (s *still) freeze(on bool) error {
	if s.err != nil {
		return s.err
	}
	s.states <- on
	return nil
}

// A box is frozen when it has not been used for some time, and thawed by the next use.
func TestClock(t *testing.T) {
	s := &still{states: make(chan bool, 9)}
	c := &Clock{After: time.Millisecond, Freeze: s.freeze}
	for round := range 3 {
		if err := c.Enter(); err != nil || c.Frozen() {
			t.Fatal(err)
		}
		if round > 0 && <-s.states {
			t.Error("not thawed")
		}
		if !errors.Is(c.Stop(), ErrInUse) {
			t.Error("it is stopped in use")
		}
		c.Touch()
		if c.Leave(); !<-s.states || !c.Frozen() {
			t.Error("not frozen")
		}
	}
	c.End()
	if c.Touch(); c.Frozen() || c.timer != nil && c.timer.Stop() {
		t.Error("it goes on after the end")
	}
}

// A box that is not in use, but works, is not frozen.
func TestWorks(t *testing.T) {
	s := &still{states: make(chan bool, 9)}
	asked := make(chan bool)
	c := &Clock{After: time.Millisecond, Freeze: s.freeze, Works: func() bool { return <-asked }}
	go c.Touch()
	for range 4 { // the first when the clock starts
		asked <- true
	}
	if len(s.states) > 0 {
		t.Error("frozen at work")
	}
	asked <- false
	if !<-s.states || !c.Frozen() {
		t.Error("not frozen")
	}
}

// Without a time it is frozen only on demand, and what cannot be thawed cannot be used.
func TestStop(t *testing.T) {
	s := &still{states: make(chan bool, 9)}
	c := &Clock{Freeze: s.freeze}
	c.Touch()
	if c.timer != nil {
		t.Error("a clock without a time")
	}
	if err := c.Stop(); err != nil || !c.Frozen() {
		t.Error(err)
	}
	if err := c.Stop(); err != nil {
		t.Error("twice:", err)
	}
	s.err = errors.New("no")
	if c.Enter() == nil || !c.Frozen() {
		t.Error("it is used frozen")
	}
	s.err = nil
	if err := c.Enter(); err != nil || c.Frozen() {
		t.Error(err)
	}
	s.err = errors.New("no")
	c.Leave()
	if c.Stop() == nil || c.Frozen() {
		t.Error("it is frozen")
	}
}
