package lint

import (
	"testing"

	"brig/internal/test/house"
)

// TestCeilings bounds types, circles of files and names of brigd's module; package house has the bounds for all.
func TestCeilings(t *testing.T) {
	house.Check(t, "../..", []house.Ceiling{
		{Kind: house.OfMethods, Rows: map[string]int{
			"brigd/policy.Policy":         54,
			"brigd/internal/api.call":     59,
			"brigd/internal/queue.Queue":  46,
			"brigd/internal/queue.Worker": 32,
		}},
		{Kind: house.OfFields, Rows: map[string]int{
			"brigd/internal/config.Config": 37,
			"brigd/internal/queue.Worker":  27,
		}},
		{Kind: house.OfCircles, Rows: map[string]int{
			"brigd/policy":         17,
			"brigd/internal/api":   13,
			"brigd/internal/mcp":   9,
			"brigd/internal/queue": 20,
		}},
		{Kind: house.OfLines, Rows: map[string]int{
			"brigd/engine":         50,
			"brigd/internal/mcp":   21,
			"brigd/internal/queue": 41,
			"brigd/policy":         32,
			"brigd/workspace":      22,
		}},
	})
}
