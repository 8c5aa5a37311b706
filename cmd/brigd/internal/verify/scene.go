package verify

import (
	"fmt"
	"strings"

	"brig/internal/attack"
)

// stage is an attack.T: what a scene needs while it is there.
type stage struct {
	undo   []func()
	failed []string
}

// cut is how a set-up ends early: it does not apply here, or it failed.
type cut struct {
	skip bool
	text string
}

// Helper satisfies attack.T.
func (g *stage) Helper() {}

// Fatal ends the set-up.
func (g *stage) Fatal(args ...any) { panic(cut{false, fmt.Sprint(args...)}) }

// Skipf ends the set-up of an attack that does not apply.
func (g *stage) Skipf(format string, args ...any) { panic(cut{true, fmt.Sprintf(format, args...)}) }

// Error notes what could not be undone.
func (g *stage) Error(args ...any) { g.failed = append(g.failed, fmt.Sprint(args...)) }

// Log does nothing: what it is called with is of interest to tests.
func (g *stage) Log(args ...any) {}

// Cleanup undoes f at the end.
func (g *stage) Cleanup(f func()) { g.undo = append(g.undo, f) }

// close undoes all of it, the last first.
func (g *stage) close() error {
	for i := len(g.undo) - 1; i >= 0; i-- {
		g.undo[i]()
	}
	if len(g.failed) > 0 {
		return fmt.Errorf("%s", strings.Join(g.failed, "; "))
	}
	return nil
}

// set makes the scene of an attack.
func (g *stage) set(a *attack.Attack, uid int) (s *attack.Scene, skip string, err error) {
	defer func() {
		if c, ok := recover().(cut); ok {
			if skip = c.text; !c.skip {
				err, skip = fmt.Errorf("its set-up failed: %s", c.text), ""
			}
		}
	}()
	return a.New(g, uid), "", nil
}
