package projects

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// TestWrite: each tree has its files, the lock file of npm names each package with its digest, and anybody may write.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, Write(dir))
	for pattern, want := range map[string]int{"c/*.c": sources + 1, "go/*/p.go": 10, "npm/packages/*.tgz": packages,
		"py/test_*.py": 20} {
		if got := len(must.Get(filepath.Glob(filepath.Join(dir, pattern)))(t)); got != want {
			t.Errorf("%s: %d files, not %d", pattern, got, want)
		}
	}
	var lock struct {
		Packages map[string]struct{ Integrity string }
	}
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile(filepath.Join(dir, "npm/package-lock.json")))(t), &lock))
	if len(lock.Packages) != packages+1 || !strings.HasPrefix(lock.Packages["node_modules/p7"].Integrity, "sha512-") {
		t.Errorf("the lock file has %d packages, and of p7 %+v", len(lock.Packages), lock.Packages["node_modules/p7"])
	}
	if st := must.Get(os.Stat(filepath.Join(dir, "npm/packages")))(t); st.Mode().Perm() != 0o777 {
		t.Errorf("the directory of packages has mode %v", st.Mode())
	}
}

// TestAll: each project is there, with the reason where a program is missing.
func TestAll(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	list, absent := All()
	if len(list) != 4 || len(absent) != 4 {
		t.Errorf("without programs there are %d projects, and %d reasons", len(list), len(absent))
	}
	for id, why := range absent {
		if !strings.Contains(why.Error(), "not found") {
			t.Errorf("%s: %v", id, why)
		}
	}
}
