package repository

import (
	"strings"
	"testing"
)

// TestFrontier: the directories with the fewest beside them and above them come first.
func TestFrontier(t *testing.T) {
	var q frontier
	for _, d := range []struct {
		rel     string
		parent  int
		name    string
		entries int
	}{{"m/1", 3, "1", 4000}, {"zz/lib", 3, "lib", 1}, {"build", 0, "build", 5}, {"zz/b", 3, "b", 1}, {"far", 300, "far", 2}, {"far2", 250, "x", 4000}} {
		q.add(d.rel, below(d.parent, d.name, d.entries))
	}
	first, level, ok := q.next()
	q.add("zz/lib/in", below(level, "in", 1))
	got := []string{first}
	for {
		rel, _, more := q.next()
		if !more {
			break
		}
		got = append(got, rel)
	}
	if text := strings.Join(got, " "); !ok || text != "zz/lib zz/b zz/lib/in build m/1 far far2" {
		t.Errorf("%q", text)
	}
}
