package result

import "testing"

func TestWarning(t *testing.T) {
	for _, c := range []struct {
		load       float64
		processors int
		want       bool
	}{{0.2, 2, false}, {1, 2, false}, {1.2, 2, true}, {3, 8, false}} {
		m := Machine{LoadBefore: c.load, Processors: c.processors}
		if got := m.Warning(); (got != "") != c.want {
			t.Errorf("%v on %d: %q", c.load, c.processors, got)
		}
	}
}
