package gccmd

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"brig/cmd/brig/internal/console"
)

func TestParseGC(t *testing.T) {
	for line, want := range map[string]string{
		"":                          ``,
		"--json":                    ``,
		"--json --cgroup-parent /a": ``,
		"--cgroup-parent":           `--cgroup-parent: a value is missing; write --cgroup-parent PATH`,
		"--cgroup-parent=":          `--cgroup-parent: it is empty; write it as in /batch.slice, or leave the flag out`,
		"--cgroup-parent a":         `--cgroup-parent: "a" is not absolute; write "/a"`,
		"--cgroup-parent /a/../b":   `--cgroup-parent: "/a/../b" is not a clean path; write "/b"`,
		"--jsn":                     `"--jsn" is not a flag; did you mean --json?`,
		"--json --json":             `--json: it is given twice; keep one`,
		"all":                       `"all" is not wanted; write brig gc, with --json or --cgroup-parent PATH`,
	} {
		var o options
		list, _, err := console.FlagsAndWords(o.Flags(), strings.Fields(line))
		if err == nil {
			err = console.NoWords(list, "brig gc, with --json or --cgroup-parent PATH")
		}
		if got := fmt.Sprint(err); got != cmp.Or(want, "<nil>") {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
		if want == "" && (o.asJSON != strings.Contains(line, "--json") || (o.parent == "/a") != strings.Contains(line, "/a")) {
			t.Errorf("%s: %+v", line, o)
		}
	}
	c := collection{Removed: []string{"/brig-1", "/\x1b]0;x"}, Busy: 2}
	if got, want := c.text(), "removed /brig-1\nremoved /\\x1b]0;x\n2 removed, 2 in use\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
