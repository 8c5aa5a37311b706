package main

import (
	"strings"
	"testing"
)

// TestAdviceAtATerminal: a person whose command has missed a file is told of brig learn, and no other is.
func TestAdviceAtATerminal(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"cat /var/lib/no-such; exit 1", "brig: if it lacks a file of the host, brig learn finds which: write learn in place of run"},
		{"no-such-command", "brig: if it lacks a file of the host, brig learn"},
		{"echo 'OSError: [Errno 24] Too many open files'; exit 1", "open files (--ulimit nofile=SOFT:HARD)"},
		{"cat /var/lib/no-such; exit 0", ""},
		{"echo 3 failed; exit 1", ""},
	} {
		at := onTerminal(t, "run", "--", "sh", "-c", c.script)
		if at.See(c.want); c.want == "" {
			at.Exit()
			if got := at.Shown(); strings.Contains(got, "brig:") {
				t.Errorf("%s: %q", c.script, got)
			}
			continue
		}
		at.Exit()
	}
}
