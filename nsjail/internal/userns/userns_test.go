package userns

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"brig/internal/test/must"
)

// TestMap: a map can have several ranges, in any order, and the kernel aligns them in columns.
func TestMap(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		root []int64 // the ids that are 0 outside
		has  [2]int64
		want bool
	}{
		"the first namespace":       {"         0          0 4294967295\n", []int64{0}, [2]int64{2000000000, 100000000}, true},
		"unshare -r as root":        {"0 0 1\n", []int64{0}, [2]int64{1, 1}, false},
		"unshare -r as a user":      {"0 1000 1\n", nil, [2]int64{0, 1}, true},
		"root and subordinate ids":  {"0 0 1\n1 100000 65536\n", []int64{0}, [2]int64{0, 65537}, true},
		"in the other order":        {"1 100000 65536\n0 0 1\n", []int64{0}, [2]int64{0, 65538}, false},
		"a container":               {"0 100000 65536\n", nil, [2]int64{1, 65535}, true},
		"root under another id":     {"1000 0 1\n", []int64{1000}, [2]int64{1000, 1}, true},
		"root in the middle":        {"0 1000 10\n10 0 1\n11 2000 10\n", []int64{10}, [2]int64{0, 21}, true},
		"root by a range":           {"5 0 10\n", []int64{5}, [2]int64{5, 11}, false},
		"a gap":                     {"0 0 10\n11 11 10\n", []int64{0}, [2]int64{5, 10}, false},
		"touching, from the middle": {"10 0 10\n0 10 10\n", []int64{10}, [2]int64{5, 15}, true},
		"none":                      {"", nil, [2]int64{0, 1}, false},
		"nothing is asked":          {"", nil, [2]int64{0, 0}, true},
	} {
		m := must.Get(parse(c.text))(t)
		for _, id := range []int64{0, 1, 5, 6, 10, 11, 1000, 65536, 1 << 32, -1} {
			if got := m.IsRoot(id); got != slices.Contains(c.root, id) {
				t.Errorf("%s: %d is root: %v", name, id, got)
			}
		}
		if got := m.Has(c.has[0], c.has[1]); got != c.want {
			t.Errorf("%s: it has %v: %v", name, c.has, got)
		}
	}
	for _, text := range []string{"0 0\n", "0 0 1 1\n", "x 0 1\n", "0 0 99999999999999999999\n", "\n", "0 0 1\nx"} {
		if m, err := parse(text); err == nil {
			t.Errorf("%q is %v", text, m)
		}
	}
}

// This process is mapped itself.
func TestSelf(t *testing.T) {
	m := must.Get(Self())(t)
	if !m.Has(int64(os.Geteuid()), 1) && os.Geteuid() != 65534 {
		t.Errorf("%d is not in %v", os.Geteuid(), m)
	}
}

// FuzzMap: what has been read is written back, and an id is mapped exactly where one of the ranges has it.
func FuzzMap(f *testing.F) {
	for _, seed := range []string{"0 0 4294967295\n", "0 0 1\n1 100000 65535\n", "1 1 -1\n", "9223372036854775807 0 9223372036854775807\n", "0 0 0"} {
		f.Add(seed, int64(1))
	}
	f.Fuzz(func(t *testing.T, text string, id int64) {
		m, err := parse(text)
		if err != nil {
			return
		}
		again := ""
		for _, r := range m {
			again += fmt.Sprintln(r.Inside, r.Outside, r.Count)
		}
		if back, err := parse(again); err != nil || !slices.Equal(back, m) {
			t.Errorf("%q is %v, and %v, %v", text, m, back, err)
		}
		in := func(r Range) bool { return id >= r.Inside && uint64(id)-uint64(r.Inside) < uint64(max(r.Count, 0)) }
		for _, r := range m { // the kernel has ids of 32 bits
			if uint64(r.Inside) > 1<<32 || uint64(r.Outside) > 1<<32 || uint64(r.Count) > 1<<32 {
				return
			}
		}
		if id >= 0 && id < 1<<32 && m.Has(id, 1) != slices.ContainsFunc(m, in) {
			t.Errorf("%v has %d: %v", m, id, m.Has(id, 1))
		}
	})
}
