package main

import (
	"strings"
	"testing"

	"brig/cmd/brig-bench/internal/measure"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
)

// --list names each measurement, and each contender with its version or the reason of its absence.
func TestList(t *testing.T) {
	var b strings.Builder
	relays := []*peers.Relay{{Info: result.Tool{Name: "present", Version: "1.2"}}, {Info: result.Tool{Name: "missing", Absent: "not installed"}}}
	if err := list(&b, []*peers.Tool{{Info: result.Tool{Name: "tool", Version: "3"}}}, relays); err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for line := range strings.Lines(b.String()) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		lines[name] = strings.TrimSpace(rest)
	}
	for _, d := range measure.Dimensions() {
		if lines[d.ID] != d.Title {
			t.Errorf("%s: %q", d.ID, lines[d.ID])
		}
	}
	if lines["tool"] != "3" || lines["present"] != "1.2" || lines["missing"] != "absent: not installed" {
		t.Errorf("%q", lines)
	}
}

// --tools leaves out relays like other tools, and never those that the rest is compared with.
func TestToolsLeavesOutRelays(t *testing.T) {
	h := &peers.Host{Dir: t.TempDir(), Brig: program(t)}
	for _, r := range relaysOf(h, options{tools: []string{"slirp"}}) {
		out := r.Info.Absent == "left out by --tools"
		if out != (r.Info.Name == "pasta") {
			t.Errorf("%s: %q", r.Info.Name, r.Info.Absent)
		}
	}
}
