package desk

import (
	"errors"
	"testing"
)

// TestALateContinueIsNotPassedOn: the SIGCONT that has continued this process while it waited for the terminal takes no
// later stop back. Any other is passed on.
func TestALateContinueIsNotPassedOn(t *testing.T) {
	failure := errors.New("the jail has ended")
	passed := 0
	pass := func() error { passed++; return failure }
	var none *Desk
	if err := none.Continue(pass); err != failure || passed != 1 {
		t.Errorf("without a terminal: %v, passed %d", err, passed)
	}
	d := &Desk{in: -1, attached: true, owed: true}
	for i, want := range []int{1, 2, 3} {
		err := d.Continue(pass)
		if passed != want || (err == nil) != (i == 0) {
			t.Errorf("SIGCONT %d: %v, passed %d", i, err, passed)
		}
	}
	if d.passed != 2 {
		t.Errorf("%d are known to be passed on", d.passed)
	}
	d.owed = true
	if d.detach(); d.owed || d.attached {
		t.Error("the terminal is given back, and a SIGCONT is owed for it")
	}
}
