package run

import (
	"strings"
	"testing"
)

// TestNetlinkWaiting: the table's columns are found by name, a socket counts once, and nothing is read beyond the limit.
func TestNetlinkWaiting(t *testing.T) {
	const head = "sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode\n"
	for _, tt := range []struct {
		name, table string
		want        int64
		fails       bool
	}{
		{"no socket", head, 0, false},
		{"two, and one again", head +
			"0000000053b6cd2f 0   0          00000000 0        0        0     2        0        4       \n" +
			"0000000053b6cd30 0   7          00000000 33280    0        0     2        0        5       \n" +
			"0000000053b6cd31 0   8          00000000 768      0        0     2        1        6       \n" +
			"0000000053b6cd30 0   7          00000000 33280    0        0     2        0        5       \n", 34048, false},
		{"other columns", "Inode new Rmem\n1 2 3\n4 5 6\n", 9, false},
		{"more than enough", head + "0 0 1 0 100001 0 0 2 0 1\n0 0 1 0 x 0 0 2 0 2\n", 100001, false},
		{"no number", head + "0 0 1 0 x 0 0 2 0 2\n", 0, true},
		{"nothing", "", 0, true},
		{"no such column", "sk Inode\n", 0, true},
	} {
		got, err := waiting(strings.NewReader(tt.table), 100000)
		if got != tt.want || (err != nil) != tt.fails {
			t.Errorf("%s: %d, %v", tt.name, got, err)
		}
	}
}
