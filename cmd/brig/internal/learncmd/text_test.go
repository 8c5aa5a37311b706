package learncmd

import (
	"fmt"
	"strings"
	"testing"

	"brig/learn"
)

// Thousands of paths with one reason are three lines.
func TestWithheldIsFolded(t *testing.T) {
	var list []learn.Withheld
	for i := range 2538 {
		list = append(list, learn.Withheld{Path: fmt.Sprint("/home/u/", i), Call: "open", Errno: "ENOENT", Why: "it is in a home directory"})
	}
	for i := range 3 {
		list = append(list, learn.Withheld{Path: fmt.Sprint("/etc/s", i), Call: "open", Errno: "EACCES", Why: "private"})
	}
	want := `open /home/u/0: ENOENT (it is in a home directory)
open /home/u/1: ENOENT (it is in a home directory)
and 2536 more: it is in a home directory (--json lists them)
open /etc/s0: EACCES (private)
open /etc/s1: EACCES (private)
open /etc/s2: EACCES (private)`
	if got := strings.Join(folded(list), "\n"); got != want {
		t.Errorf("%s", got)
	}
}
