package changescmd

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"brig/changes"
	"brig/cmd/brig/internal/console"
	"brig/internal/cli"
	"brig/internal/test/must"
)

// TestDryRunOfManyNames: the list of what would be changed is not copied for each of its lines.
func TestDryRunOfManyNames(t *testing.T) {
	const many, size = 4000, 1000
	null := must.Get(os.OpenFile(os.DevNull, os.O_WRONLY, 0))(t)
	defer null.Close()
	list := make([]*changes.File, many)
	for i := range list {
		list[i] = &changes.File{Path: changes.Name(strings.Repeat("n", size)), New: &changes.State{Kind: changes.Regular}}
	}
	allocated := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.TotalAlloc
	}
	before := allocated()
	code := (&applyFlags{dryRun: true}).tell(&changes.Set{}, &changes.Applied{Files: list},
		&console.Console{Stdio: cli.Stdio{Out: null}})
	if n := allocated() - before; n > 100*many*size || code != 0 {
		t.Errorf("%d bytes were allocated for %d of names, exit code %d", n, many*size, code)
	}
}
