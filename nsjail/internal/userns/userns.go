// Package userns reads which ids of this process's user namespace are which outside of it: user_namespaces(7).
package userns

import (
	"fmt"
	"strconv"
	"strings"

	"brig/internal/sys"
)

// Map has the ranges of uids of a user namespace, in the order of the kernel, which is that of who has written them.
type Map []Range

// Range are Count ids from Inside, which are those from Outside in the namespace of who reads the map.
type Range struct{ Inside, Outside, Count int64 }

const file = "/proc/self/uid_map"

// Self returns the map of this process.
func Self() (Map, error) {
	text, err := sys.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parse(string(text))
}

func parse(text string) (m Map, err error) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 {
			return nil, fmt.Errorf("%s: %q is no range", file, line)
		}
		var n [3]int64
		for i := range n {
			if n[i], err = strconv.ParseInt(f[i], 10, 64); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
		m = append(m, Range{n[0], n[1], n[2]})
	}
	return m, nil
}

// find returns the range of an id inside, or nil.
func (m Map) find(id int64) *Range {
	for i := range m {
		if r := &m[i]; id >= r.Inside && id-r.Inside < r.Count {
			return r
		}
	}
	return nil
}

// IsRoot reports whether an id inside is 0 outside.
func (m Map) IsRoot(id int64) bool {
	r := m.find(id)
	return r != nil && r.Outside+(id-r.Inside) == 0
}

// Has reports whether all of a number of ids inside are mapped.
func (m Map) Has(from, count int64) bool {
	for id := from; id < from+count; {
		r := m.find(id)
		if r == nil {
			return false
		}
		id = r.Inside + r.Count
	}
	return true
}
