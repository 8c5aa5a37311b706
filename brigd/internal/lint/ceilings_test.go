package lint

import (
	"testing"

	"brig/internal/test/house"
)

// TestCeilings bounds types, circles of files and names of brigd's module; package house has the bounds for all.
func TestCeilings(t *testing.T) {
	house.Check(t, "../..", []house.Ceiling{
		{Kind: house.OfMethods},
		{Kind: house.OfFields},
		{Kind: house.OfCircles},
		{Kind: house.OfLines, Rows: map[string]int{
			"brigd/engine":       65,
			"brigd/internal/api": 26,
			"brigd/internal/mcp": 25,
			"brigd/policy":       31,
			"brigd/workspace":    35,
		}},
	})
}
