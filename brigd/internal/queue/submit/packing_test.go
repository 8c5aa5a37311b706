package submit

import (
	"context"
	"strings"
	"testing"

	"brig/brigd/engine"
	"brig/internal/test/must"
)

// Of large requests one of each tenant is packed at once, and two of all; small ones wait for nothing.
func TestLargeRequestsArePackedInTurn(t *testing.T) {
	p := newPacking()
	big := map[string]*engine.Request{"code": {Code: strings.Repeat("x", large)}, "stdin": {Stdin: strings.Repeat("x", large)},
		"file": {Files: map[string]engine.File{"f": {Data: make([]byte, large)}}}, "argument": {Args: []string{strings.Repeat("x", large)}},
		"variable": {Env: map[string]string{"X": strings.Repeat("x", large)}}}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for what, r := range big {
		end := must.Get(p.take(t.Context(), "a", r))(t)
		if _, err := p.take(ended, "a", r); err == nil {
			t.Errorf("%s: a second one of the tenant", what)
		}
		other := must.Get(p.take(t.Context(), "b", r))(t)
		if _, err := p.take(ended, "c", r); err == nil {
			t.Errorf("%s: a third one", what)
		}
		must.Get(p.take(ended, "a", &engine.Request{}))(t)()
		other()
		end()
	}
	if len(p.places) != 0 || len(p.turns.busy) != 0 {
		t.Error("turns are left")
	}
}
