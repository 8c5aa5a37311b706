package nsjail

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// sourceFunc is a source that is invented.
type sourceFunc func() (*running, error)

func (f sourceFunc) take(context.Context, *attempt) (*running, error) { return f() }

// closed notes that it was closed.
type closed bool

func (c *closed) Close() error { *c = true; return nil }

// TestSourcesAreAskedInOrder: the first that has a jail makes it, an error ends the search, and only then is released
// what the attempt holds.
func TestSourcesAreAskedInOrder(t *testing.T) {
	jail, failure := &running{}, errors.New("no jail")
	for _, tt := range []struct {
		name    string
		answers string // of each source: - has none, + has a jail, ! fails
		asked   int
		err     error
	}{
		{"the first has one", "+!", 1, nil},
		{"the last has one", "--+", 3, nil},
		{"one fails", "-!+", 2, failure},
	} {
		a, asked := newAttempt(&spec.Spec{Args: []string{"true"}}), 0
		var released closed
		a.held.closers = []io.Closer{&released}
		var sources []source
		for _, answer := range tt.answers {
			sources = append(sources, sourceFunc(func() (*running, error) {
				asked++
				return map[rune]*running{'+': jail}[answer], map[rune]error{'!': failure}[answer]
			}))
		}
		r, err := begin(t.Context(), a, nil, sources...)
		if asked != tt.asked || !errors.Is(err, tt.err) || (r == jail) != (err == nil) || bool(released) != (err != nil) {
			t.Errorf("%s: asked %d, %v, jail %v, released %v", tt.name, asked, err, r == jail, released)
		}
	}
}

// TestSourcesThatHaveNone: a way to start that does not fit an attempt leaves it as it was, to the next one.
func TestSourcesThatHaveNone(t *testing.T) {
	jails := &registry{}
	for name, tt := range map[string]struct {
		source source
		spec   spec.Spec
		hand   *Handover
	}{
		"no prepared root":            {preparedRoot{}, spec.Spec{}, nil},
		"no parked jail without one":  {parkedJail{}, spec.Spec{}, nil},
		"the host's network":          {preparedRoot{&warmRoot{}}, spec.Spec{Net: spec.NetHost}, nil},
		"an /etc of its own":          {parkedJail{&warmRoot{}}, spec.Spec{Etc: []string{"/etc/hosts"}}, nil},
		"no pool of such jails":       {parkedJail{&warmRoot{}}, spec.Spec{}, nil},
		"no handover":                 {parkedPayload{&payloadPools{root: &warmRoot{}, jails: jails}}, spec.Spec{}, nil},
		"a handover without a Runner": {parkedPayload{&payloadPools{jails: jails}}, spec.Spec{}, &Handover{}},
		"no pool of such payloads":    {parkedPayload{&payloadPools{root: &warmRoot{}, jails: jails}}, spec.Spec{}, &Handover{}},
	} {
		tt.spec.Args = []string{"true"}
		a := newAttempt(&tt.spec)
		a.jails, a.handover = jails, tt.hand
		a.wire(strings.NewReader(""), io.Discard, nil)
		if r, err := tt.source.take(t.Context(), a); r != nil || err != nil || a.plan != nil {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
}

// TestSeats: only a payload with init, and without a terminal of its own, can have one in place of the caller's.
func TestSeats(t *testing.T) {
	for name, tt := range map[string]struct {
		spec   spec.Spec
		parked bool
	}{
		"a terminal of its own": {spec.Spec{TTY: true}, false},
		"no init":               {spec.Spec{NoInit: true}, false},
		"parked":                {spec.Spec{}, true},
		"no terminal":           {spec.Spec{}, false},
	} {
		a := newAttempt(&tt.spec)
		a.parked = tt.parked
		a.wire(nil, io.Discard, nil)
		if n := a.seats(); n != 0 {
			t.Errorf("%s: stream %d", name, n)
		}
	}
}

// TestRegistryHasRoom: a start waits for room, which others have if it fails. A closed one starts nothing.
func TestRegistryHasRoom(t *testing.T) {
	r := &registry{room: make(chan struct{}, 1), jails: map[*running]bool{}}
	begun := 0
	start := func(err error) func() error { return func() error { begun++; return err } }
	failure := errors.New("no jail")
	if err := r.run(t.Context(), start(failure)); err != failure || begun != 1 {
		t.Errorf("%v, %d starts", err, begun)
	}
	must.Do(t, r.run(t.Context(), start(nil)))
	full, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.run(full, start(nil)); !errors.Is(err, context.Canceled) || begun != 2 {
		t.Errorf("without room: %v, %d starts", err, begun)
	}
	r.leave()
	if !r.close() || r.close() {
		t.Error("it is closed once")
	}
	if err := r.run(t.Context(), start(nil)); err == nil || begun != 2 || len(r.room) != 0 {
		t.Errorf("closed: %v, %d starts, %d in the room", err, begun, len(r.room))
	}
	if err := r.add(&running{}); err == nil {
		t.Error("a jail was added to a closed registry")
	}
}
