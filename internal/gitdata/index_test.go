package gitdata

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"brig/internal/test/must"
)

// TestSameIndex: a refreshed index is the same, and one with another file, mode or content is not, in all formats.
func TestSameIndex(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	const start = "git init -q $F .; git config index.version $V; echo a >a; mkdir -p d/eeeeeeeeeee; echo b >d/eeeeeeeeeee/f; echo b >d/eeeeeeeeeee/ff; git add .; "
	steps := []struct {
		script string
		same   bool
	}{
		{"touch -d 2001-01-01 a d/eeeeeeeeeee/f; git status >/dev/null", true}, {"git write-tree >/dev/null", true},
		{"echo c >a; git add a", false}, {"git add --chmod=+x a", false}, {"echo c >c; git add -N c", false}, {"git rm -qf --cached a", false},
		{"git update-index --assume-unchanged d/eeeeeeeeeee/f", false},
	}
	for _, env := range [][]string{{"V=2", "F="}, {"V=4", "F="}, {"V=4", "F=--object-format=sha256"}} {
		dir, script := t.TempDir(), start
		for i, s := range steps {
			script += fmt.Sprintf("cp .git/index ../%d; %s; ", i, s.script)
		}
		cmd := exec.Command("sh", "-ec", script+fmt.Sprintf("cp .git/index ../%d", len(steps)))
		cmd.Dir = filepath.Join(dir, "r")
		must.Do(t, os.Mkdir(cmd.Dir, 0o755))
		cmd.Env = append(os.Environ(), append(env, "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", env, err, out)
		}
		index := func(i int) []byte { return must.Get(os.ReadFile(fmt.Sprintf("%s/%d", dir, i)))(t) }
		for i, s := range steps {
			if got := SameIndex(index(i), index(i+1)); got != s.same {
				t.Errorf("%q: %s: %v", env, s.script, got)
			}
		}
	}
}

// FuzzSameIndex: no index makes it fail, and each that can be read is the same as itself.
func FuzzSameIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x00TREE\x00\x00\x00\x0012345678901234567890"))
	f.Fuzz(func(t *testing.T, index []byte) {
		_, short := entries(index, 20)
		if _, long := entries(index, 32); (short || long) != SameIndex(index, index) {
			t.Error(short, long)
		}
	})
}
