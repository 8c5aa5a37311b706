package nsjail

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"brig/nsjail/internal/host"
)

// groupMap maps one group to another in a gid_map, and all other groups below an end to themselves. The kernel lets
// nobody write to an inode whose group the mount does not map, not even the inode's owner. The payload is in none of
// the other groups, so they are no right of its own. A file of the group to stays unmapped.
func groupMap(from, to, end int) (text string) {
	low, high := min(from, to), max(from, to)
	for _, r := range [][3]int{{from, to, 1}, {0, 0, low}, {low + 1, low + 1, high - low - 1},
		{high + 1, high + 1, end - high - 1}} {
		if r[2] > 0 {
			text += fmt.Sprintf("%d %d %d\n", r[0], r[1], r[2])
		}
	}
	return text
}

// groupsHere returns the number of groups in this user namespace, the host's or one that has the host's ids as they
// are: user_namespaces(7). The last number is no group: setresgid(2).
func groupsHere() int {
	if f := strings.Fields(host.ReadText("/proc/self/gid_map")); len(f) == 3 && f[0] == f[1] {
		if n, err := strconv.Atoi(f[2]); err == nil {
			return n
		}
	}
	return math.MaxUint32
}
