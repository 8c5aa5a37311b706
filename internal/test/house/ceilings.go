package house

import (
	"maps"
	"slices"
	"testing"
)

// Kind is a figure of packages or of their types, and the bound that holds for all.
type Kind struct {
	What string
	Of   func(*Package) map[string]int
	Most int
}

// A type with many methods, or a type that acts on many fields, is a corridor: whatever opens on it must be read
// together. A feature that adds one has not found its room yet.
var (
	OfMethods = Kind{"methods of a type", Methods, 30}
	OfFields  = Kind{"fields of a type with eight methods or more", Fields, 20}
	// Files that use one another in a circle can be read, tested and changed only together.
	OfCircles = Kind{"files in the largest circle of a package", Circle, 8}
	// Nobody reads a larger package as a whole.
	OfLines = Kind{"hundreds of lines of a package", Hundreds, 20}
	// What an embedder is shown.
	OfNames = Kind{"exported names", Exported, 110}
)

// Ceiling bounds a figure. What is above the bound for all has a row of its own, with what it was when the row was
// written. Rows and bounds only fall.
type Ceiling struct {
	Kind
	Rows map[string]int
}

// Check fails if a figure of the module in dir is above its ceiling, or a row above its figure.
func Check(t *testing.T, dir string, ceilings []Ceiling) {
	t.Helper()
	all, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range ceilings {
		figures := map[string]int{}
		for _, p := range all {
			maps.Copy(figures, c.Of(p))
		}
		Bound(t, c.What, c.Most, c.Rows, figures)
	}
}

// Bound fails if a figure is above the bound for all, or above its own row, or a row above its figure.
func Bound(t *testing.T, what string, most int, rows, figures map[string]int) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		row, own := rows[name]
		switch n := figures[name]; {
		case !own && n > most:
			t.Errorf("%s: %s has %d, more than %d", what, name, n, most)
		case own && n > row:
			t.Errorf("%s: %s has %d, more than its %d", what, name, n, row)
		case own && n < row:
			t.Errorf("%s: %s has %d: lower its row, which is %d", what, name, n, row)
		}
	}
	for name := range rows {
		if _, there := figures[name]; !there {
			t.Errorf("%s: there is no %s: remove its row", what, name)
		}
	}
}
