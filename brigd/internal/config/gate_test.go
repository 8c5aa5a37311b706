package config

import (
	"testing"

	"brig/brigd/internal/admit"
)

func TestGate(t *testing.T) {
	for running, most := range map[int]int{1: 1, 2: 1, 4: 3, 10: 7} {
		g := Gate{admit.Options{Running: running}}
		if g.Places() != running || g.CallerPlaces() != most {
			t.Errorf("%d at once: one caller may have %d, and not %d", g.Places(), g.CallerPlaces(), most)
		}
	}
	both := given{"queue.waiting_per_caller": "--queue-per-caller"}
	for _, tt := range []struct {
		options admit.Options
		set     given
		want    string
	}{
		{admit.Options{Running: 4, PerCaller: 4}, nil, ""},
		{admit.Options{Running: 4, PerCaller: 5}, nil, "queue.per_caller is 5, more than --running 4, which all have together"},
		{admit.Options{Queue: 5, QueuePerCaller: 512}, nil, ""}, // the default follows
		{admit.Options{Queue: 5, QueuePerCaller: 6}, both, "queue.waiting_per_caller is 6, more than --queue 5"},
		{admit.Options{Burst: 5}, nil, "queue.burst needs a rate"},
		{admit.Options{Burst: 5, Rate: 0.1}, nil, ""},
	} {
		want(t, (&Gate{tt.options}).check(tt.set), tt.want)
	}
}
