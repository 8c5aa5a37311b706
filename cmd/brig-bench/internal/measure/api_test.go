package measure

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
	"brig/internal/test/long"
	"brig/internal/test/must"
)

// beside has the program brig with a brigd beside it, the Runner and the bare process.
func beside(t *testing.T) *Env {
	t.Helper()
	e := &Env{Quick: true, Rounds: 1, Brig: os.Getenv("BRIG_TEST_BINARY"), Dir: t.TempDir(), Progress: quiet}
	if e.Brig == "" { // without make
		if _, err := exec.LookPath("go"); err != nil {
			t.Skip("brigd is built for this test, and there is no compiler: ", err)
		}
		e.Brig = filepath.Join(t.TempDir(), "brig")
		if out, err := exec.Command("go", "-C", "../../../../brigd", "build", "-o", filepath.Dir(e.Brig), "./cmd/brigd").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	e.Tools = slices.DeleteFunc(peers.All(&peers.Host{Dir: e.Dir, Brig: e.Brig}), func(tool *peers.Tool) bool {
		return tool.Info.Name != peers.Bare && tool.Info.Name != "brig Runner"
	})
	return e
}

// figure reports whether a contender has one in a table.
func figure(table *result.Table, name string) bool {
	return slices.ContainsFunc(table.Rows, func(r result.Row) bool { return r.Tool == name && r.Error == "" && r.P50 > 0 })
}

// A brigd that was built beside brig answers each table's requests, beside the Runner and the bare process.
func TestAPI(t *testing.T) {
	long.Test(t)
	e := beside(t)
	for _, d := range api() {
		table := must.Get(d.Run(t.Context(), e))(t)
		names := []string{peers.Bare, itself, request}
		if strings.HasPrefix(d.ID, "api-python") {
			names = append(names, warm)
		}
		for _, name := range names {
			if !figure(&table, name) {
				t.Errorf("%s: no figure of %s in %+v", d.ID, name, table.Rows)
			}
		}
	}
}

// A brigd that cannot start, and an answer that is no success, are errors that say why.
func TestBrigdFails(t *testing.T) {
	if _, err := load.StartBrigd("/bin/sh", t.TempDir()); err == nil || !strings.Contains(err.Error(), "brigd has ended: ") {
		t.Error(err)
	}
	e := &Env{Brig: "/no/brig"}
	for _, d := range api() {
		table, err := d.Run(t.Context(), e)
		if err != nil || len(table.Notes) != 1 || !strings.Contains(table.Notes[0], "make build makes brigd beside brig") {
			t.Errorf("%+v, %v", table, err)
		}
	}
}
