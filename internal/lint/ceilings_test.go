package lint

import (
	"maps"
	"slices"
	"testing"
)

// ceiling bounds a figure of each package. The figures that are above the bound for all have a row of their own, with
// what they were when the row was written. Rows and bounds only fall.
type ceiling struct {
	what string
	of   func(*checked) map[string]int
	most int
	rows map[string]int
}

var ceilings = []ceiling{
	// A type with many methods, or a type that acts on many fields, is a corridor: whatever opens on it must be read
	// together. A feature that adds one has not found its room yet.
	{"methods of a type", methods, 30, map[string]int{
		"brigd/engine.Engine":            108,
		"brigd/policy.Policy":            54,
		"changes.applier":                48,
		"cmd/brig.builder":               45,
		"brigd/internal/api.call":        59,
		"brigd/internal/queue.Queue":     46,
		"brigd/internal/queue.Worker":    32,
		"internal/repository.finder":     35,
		"nsjail/doctor.Facts":            44,
		"nsjail/internal/host.protector": 34,
		"nsjail/spec.checker":            48,
		"rootfs.builder":                 42,
	}},
	{"fields of a type with eight methods or more", fields, 20, map[string]int{
		"cmd/brig.invocation":               25,
		"cmd/brig/internal/isolate.Options": 31,
		"brigd/internal/config.Config":      37,
		"brigd/internal/queue.Worker":       27,
		"netns/egress.Server":               21,
		"nsjail/doctor.Facts":               22,
		"nsjail/internal/plan.Plan":         26,
		"nsjail/internal/run.Streams":       26,
		"nsjail/spec.Spec":                  27,
	}},
	// Files that use one another in a circle can be read, tested and changed only together.
	{"files in the largest circle of a package", circle, 8, map[string]int{
		"brigd/engine":                    28,
		"brigd/policy":                    17,
		"cgroup":                          15,
		"changes":                         25,
		"cmd/brig":                        38,
		"cmd/brig-bench/internal/measure": 9,
		"cmd/brig/internal/isolate":       14,
		"brigd/internal/api":              13,
		"brigd/internal/mcp":              9,
		"brigd/internal/queue":            20,
		"layer":                           9,
		"netns/egress":                    9,
		"netns/egress/policy":             11,
		"nsjail/doctor":                   12,
		"nsjail/spec":                     17,
		"rootfs":                          9,
	}},
	// What an embedder is shown.
	{"exported names", exported, 110, map[string]int{"nsjail": 69}},
}

func TestCeilings(t *testing.T) {
	all := check(t)
	for _, c := range ceilings {
		figures := map[string]int{}
		for i := range all {
			maps.Copy(figures, c.of(&all[i]))
		}
		for _, name := range slices.Sorted(maps.Keys(figures)) {
			most, own := c.rows[name]
			switch n := figures[name]; {
			case !own && n > c.most:
				t.Errorf("%s: %s has %d, more than %d", c.what, name, n, c.most)
			case own && n > most:
				t.Errorf("%s: %s has %d, more than its %d", c.what, name, n, most)
			case own && n < most:
				t.Errorf("%s: %s has %d: lower its row, which is %d", c.what, name, n, most)
			}
		}
		for name := range c.rows {
			if _, there := figures[name]; !there {
				t.Errorf("%s: there is no %s: remove its row", c.what, name)
			}
		}
	}
}

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
