package sys_test

import (
	"os"
	"path/filepath"
	"testing"

	"brig/internal/sys"
	"brig/internal/test/must"
)

// TestAbs compares with what the kernel finds, for each path that exists.
func TestAbs(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	t.Chdir(dir)
	must.Do(t, os.MkdirAll("real/proj/sub", 0o700))
	must.Do(t, os.Symlink("real/proj", "link"))
	must.Do(t, os.Symlink(dir+"/link/..", "back"))
	for path, want := range map[string]string{
		"":                     "",
		".":                    "",
		"real/.":               "/real",
		"link":                 "/link",
		"link/sub/":            "/link/sub",
		"link/..":              "/real",
		"./link//../proj":      "/real/proj",
		"link/../../link/sub":  "/link/sub",
		"link/../new/file":     "/real/new/file",
		"back/proj/sub/../..":  "/real",
		"..real":               "/..real",
		"real/..x/y":           "/real/..x/y",
		dir + "/link/..":       "/real",
		dir + "/link/../proj/": "/real/proj",
		dir + "//real":         "/real",
	} {
		got, err := sys.Abs(path)
		if err != nil || got != dir+want {
			t.Errorf("%q: %q, %v; want %q", path, got, err, dir+want)
			continue
		}
		is, err := os.Stat(path)
		if there, gerr := os.Stat(got); err == nil && (gerr != nil || !os.SameFile(is, there)) {
			t.Errorf("%q: %q is another file (%v)", path, got, gerr)
		}
	}
	if got, err := sys.Abs("none/../x"); err == nil {
		t.Errorf("a directory that does not exist: %q", got)
	}
	for _, lie := range []string{"/", dir + "/link/..", dir + "/real/../link/../.."} {
		t.Setenv("PWD", lie)
		if got, err := sys.Abs("real"); err != nil || got != dir+"/real" {
			t.Errorf("with PWD=%s: %q, %v", lie, got, err)
		}
	}
}
