package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// maxInitAllocs bounds what the initialisation of all linked packages allocates before main: 108 when it was measured,
// half of that for package net, with some room for the next Go release. Every start pays for it, and an import that is
// not needed shows here first.
const maxInitAllocs = 125

func TestInitAllocations(t *testing.T) {
	exe := os.Getenv("BRIG_TEST_BINARY") // make test has built it
	if exe == "" {
		exe = filepath.Join(t.TempDir(), "brig")
		build := exec.Command("go", "build", "-buildvcs=false", "-tags", "netgo,osusergo", "-o", exe, "./cmd/brig")
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	run := exec.Command(exe, "version")
	run.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	run.Stderr = &trace
	if err := run.Run(); err != nil {
		t.Fatalf("%v\n%s", err, trace.String())
	}
	total, packages := 0, 0
	for _, line := range strings.Split(trace.String(), "\n") {
		before, ok := strings.CutSuffix(line, " allocs")
		if !ok || !strings.HasPrefix(line, "init ") {
			continue
		}
		n, err := strconv.Atoi(before[strings.LastIndexByte(before, ' ')+1:])
		if err != nil {
			t.Fatal(line)
		}
		total += n
		packages++
	}
	if packages < 5 || total > maxInitAllocs {
		t.Errorf("%d allocations in the initialisation of %d packages, more than %d:\n%s", total, packages, maxInitAllocs, trace.String())
	}
}
