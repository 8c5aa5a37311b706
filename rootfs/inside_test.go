package rootfs

import (
	"strings"
	"testing"

	"brig/internal/program"
)

// In a tree that others may have changed, openat2(2) alone looks up a path of more than one name. In a tree of brig's
// own every call may.
func TestInside(t *testing.T) {
	for _, ours := range []bool{true, false} {
		for what, do := range map[string]func(n *inside){
			"mkdir":       func(n *inside) { n.mkdir("x/y/z", 0o755) },
			"attach":      func(n *inside) { n.attach(firstSlot, "x/y/z", true) },
			"attach file": func(n *inside) { n.attach(firstSlot, "x/y/z", false) },
		} {
			n := &inside{writer: writer{program.New(0), "l"}, made: map[string]bool{"": true}, ours: ours}
			do(n)
			guarded := true
			for _, call := range strings.Split(strings.TrimSpace(calls(n.Program, 0)), "\n") {
				guarded = guarded && (strings.Contains(call, "openat2") || !strings.Contains(call, "/y"))
			}
			if guarded == ours {
				t.Errorf("%s, ours %v:\n%s", what, ours, calls(n.Program, 0))
			}
			if was := len(n.Ops); what == "mkdir" {
				if do(n); len(n.Ops) != was {
					t.Errorf("a directory is made twice:\n%s", calls(n.Program, 0))
				}
			}
		}
	}
}
