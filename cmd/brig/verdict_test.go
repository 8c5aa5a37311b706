package main

import (
	"strings"
	"testing"

	"brig/nsjail"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// TestOverCPU: SIGKILL is sent at the hard limit, and SIGXCPU at the soft one.
func TestOverCPU(t *testing.T) {
	l := &nsjail.Limits{Rlimits: map[string]spec.Rlimit{"cpu": {Soft: 1, Hard: 2}}}
	for sig, want := range map[unix.Signal]string{unix.SIGXCPU: "limit of 1s", unix.SIGKILL: "limit of 2s"} {
		if got := overCPU(l, sig); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", sig, got, want)
		}
	}
}
