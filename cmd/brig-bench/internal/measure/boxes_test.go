package measure

import (
	"strings"
	"testing"

	"brig/internal/test/long"
	"brig/internal/test/must"
)

// Both makers of boxes have a figure in each table, and so has what they are compared with.
func TestBoxes(t *testing.T) {
	long.Test(t)
	e := beside(t)
	for _, d := range living() {
		table := must.Get(d.Run(t.Context(), e))(t)
		for _, name := range []string{"a box of the library", "brigd, by HTTP"} {
			if !figure(&table, name) && d.ID != "box-memory" { // other programs may have given back more meanwhile
				t.Errorf("%s: no figure of %s in %+v", d.ID, name, table.Rows)
			}
		}
		for _, r := range table.Rows {
			if r.Error != "" {
				t.Errorf("%s: %+v", d.ID, r)
			}
		}
	}
}

// Without a brigd the tables are of the library's boxes, and a note tells so.
func TestBoxesWithoutBrigd(t *testing.T) {
	long.Test(t)
	e := env(t)
	d := living()[0]
	table := must.Get(d.Run(t.Context(), e))(t)
	if !figure(&table, "a box of the library") || !strings.Contains(strings.Join(table.Notes, "\n"), "make build makes brigd") {
		t.Errorf("%+v", table)
	}
}
