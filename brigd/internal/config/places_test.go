package config

import "testing"

// Every setting has a place: what bounds a run has to reach the brigd that runs it.
func TestEverySettingHasAPlace(t *testing.T) {
	known := map[string]bool{}
	for _, f := range Flags("mcp") { // which has all
		if f.Path == "" {
			continue
		}
		known[f.Path] = true
		switch places[f.Path] {
		case Front, Worker, Each, Travels:
		default:
			t.Errorf("--%s has no row in places.go: does it act at the front, at the worker, or at both? What bounds a run "+
				"has to travel (engine.Rules, and rulesOf in brigd/cmd/brigd/queue_rules.go)", f.Name)
		}
	}
	for path := range places {
		if !known[path] {
			t.Errorf("%s is in places.go, and no setting", path)
		}
	}
}

func TestElsewhere(t *testing.T) {
	at := []string{"--jetstream", "nats://127.0.0.1:1"}
	for _, c := range []struct {
		command string
		args    []string
		want    string
	}{
		{"serve", []string{"--pool", "1"}, ""},
		{"serve", append(at, "--pool", "1", "--policy", "minimal", "--rate", "3"), "--pool"},
		{"serve", append(at, "--pool", "1", "--slots", "2"), ""},
		{"mcp", append(at, "--per-caller", "1"), "--per-caller"},
		{"worker", append(at, "--pool", "1", "--rate", "3", "--timeout", "1s"), "--rate"},
	} {
		parsed, err := Parse(c.command, c.args)
		if err != nil {
			t.Fatal(err)
		}
		if got := parsed.Elsewhere(); got != c.want {
			t.Errorf("%s %v: %q, and not %q", c.command, c.args, got, c.want)
		}
	}
}

// A bound of no run is none that the queue could hold.
func TestNoQueueOfNone(t *testing.T) {
	if _, err := Parse("serve", []string{"--jetstream", "q", "--queue", "0"}); err == nil {
		t.Error("it is taken")
	}
	c, err := Parse("serve", []string{"--jetstream", "q", "--running", "4", "--slots", "8"})
	if err != nil || c.SlotsPerCaller() != 6 {
		t.Errorf("%v: one caller has %d of 8 slots", err, c.SlotsPerCaller())
	}
}
