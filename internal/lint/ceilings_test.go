package lint

import (
	"testing"

	"brig/internal/test/house"
)

// TestCeilings bounds types, circles of files and names of the jail's module; package house has the bounds for all.
func TestCeilings(t *testing.T) {
	house.Check(t, root, []house.Ceiling{
		{Kind: house.OfMethods},
		{Kind: house.OfFields, Rows: map[string]int{
			"netns/egress.Server":       21,
			"nsjail/internal/plan.Plan": 25,
			"nsjail/spec.Spec":          27,
		}},
		{Kind: house.OfCircles},
		{Kind: house.OfNames, Rows: map[string]int{
			"nsjail": 71,
		}},
		{Kind: house.OfLines, Rows: map[string]int{
			"cgroup":               29,
			"changes":              49,
			"netns/egress":         34,
			"netns/egress/policy":  27,
			"nsjail":               62,
			"nsjail/internal/host": 39,
			"nsjail/internal/plan": 38,
			"nsjail/spec":          28,
			"seccomp":              25,
		}},
	})
}
