package changes

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// A reader of a set holds each name once: names of a large set may have 64 MiB.
func TestNamesAreHeldOnce(t *testing.T) {
	const many = 2000
	up, deep := files{}, strings.Repeat("a", 250)+"/"+strings.Repeat("b", 250)+"/"+strings.Repeat("c", 250)+"/"
	for i := range many {
		up[fmt.Sprintf("%s%s%04d", deep, strings.Repeat("n", 240), i)] = ""
	}
	w := newWorld(t, files{}, up)
	id := w.capture().ID
	up = nil
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := live()
	set := must.Get(w.store.Find(id))(t)
	list := must.Get(set.Files())(t)
	layer := must.Get(set.open())(t)
	defer layer.layer.Close()
	g := must.Get(set.sortGit(list, -1, set.free(&ApplyOptions{}), layer))(t)
	held, names := live()-before, uint64(0)
	for _, f := range list {
		names += uint64(len(f.Path))
	}
	if held > names+800*many {
		t.Errorf("%d bytes are held, of which names have %d", held, names)
	}
	runtime.KeepAlive(g)
}

// What is in a directory follows it at once.
func TestOrderOfPaths(t *testing.T) {
	list := []Name{"a", "a/b", "a/b/c", "a/b.d", "a\x01", "a b", "a-b", "a.b", "ab", "b", "b/\xff", "b\x01", "\xff"}
	for i, a := range list {
		for j, b := range list {
			if precedes(a, b) != (i < j) {
				t.Errorf("%q and %q: %v", a, b, precedes(a, b))
			}
		}
	}
	if !slices.IsSortedFunc(list, func(a, b Name) int {
		return strings.Compare(strings.ReplaceAll(string(a), "/", "\x00"), strings.ReplaceAll(string(b), "/", "\x00"))
	}) {
		t.Error("it is another order than that of files.json")
	}
}
