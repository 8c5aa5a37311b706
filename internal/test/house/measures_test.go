package house

import "testing"

func TestLargest(t *testing.T) {
	set := func(names ...string) map[string]bool {
		m := map[string]bool{}
		for _, n := range names {
			m[n] = true
		}
		return m
	}
	for want, g := range map[int]map[string]map[string]bool{
		0: {},
		1: {"a": set("b", "c"), "b": set("c"), "c": set()},
		2: {"a": set("b"), "b": set("a", "c"), "c": set()},
		4: {"a": set("b"), "b": set("c"), "c": set("d"), "d": set("a"), "e": set("a"), "f": set("e")},
	} {
		if n := largest(g); n != want {
			t.Errorf("%v: %d, want %d", g, n, want)
		}
	}
}
