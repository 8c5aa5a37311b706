package layer

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"brig/internal/test/must"
)

// TestTable: with a Table, Pack writes what has changed since the first one. Both make the tree as it is, by an Index and
// by Unpack.
func TestTable(t *testing.T) {
	inMemory(t)
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r, dir, o := rand.New(rand.NewPCG(seed, 2)), folder(t), &PackOptions{Table: &Table{}, Live: true}
			disturb(r, dir.Name(), 60)
			base := pack(t, dir, o)
			if !bytes.Equal(base, pack(t, dir, nil)) {
				t.Fatal("the first layer is not that of the tree")
			}
			for round := range 4 {
				if round > 0 {
					disturb(r, dir.Name(), 3)
				}
				changes, want := pack(t, dir, o), list(t, unpack(t, pack(t, dir, nil)))
				if round == 0 && len(changes) != 1024 {
					t.Errorf("%d bytes of no change", len(changes))
				}
				equal(t, "by Unpack", list(t, unpack(t, base, changes)), want)
				x, err := index(base)
				if err == nil {
					err = x.Change(io.NewSectionReader(bytes.NewReader(changes), 0, int64(len(changes))))
				}
				again := folder(t)
				if err == nil {
					err = x.Unpack(again, plainly)
				}
				must.Do(t, err)
				equal(t, "by an Index", list(t, again), want)
			}
		})
	}
}

// TestTableOfMany: of 1,000 files of which one has changed, the layer has one.
func TestTableOfMany(t *testing.T) {
	dir, o := folder(t), &PackOptions{Table: &Table{}}
	for i := range 1000 {
		must.Do(t, os.WriteFile(fmt.Sprint(dir.Name(), "/", i), bytes.Repeat([]byte("x"), 500), 0o644))
	}
	base := pack(t, dir, o)
	st := must.Get(os.Stat(dir.Name() + "/7"))(t)
	must.Do(t, os.WriteFile(dir.Name()+"/7", bytes.Repeat([]byte("y"), 500), 0o644))
	if err := os.Chtimes(dir.Name()+"/7", st.ModTime(), st.ModTime()); err != nil { // as a write to a mapping leaves it
		t.Fatal(err)
	}
	if changes := pack(t, dir, o); len(changes) > 4<<10 || len(base) < 1<<20 || !bytes.Contains(changes, []byte("yyy")) {
		t.Errorf("%d bytes of %d", len(changes), len(base))
	}
}
