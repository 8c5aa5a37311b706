package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

// TestInstall: make install puts what it is told to below DESTDIR. The names of isolate and bwrap are second names of
// brig, not symbolic links, since Codex executes what a link leads to under that name. They never replace another file,
// follow brig when it is installed again, and make uninstall removes no more than that.
func TestInstall(t *testing.T) {
	if asuser.Second() {
		t.Skip("the Makefile is where the first run was")
	}
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	bin, dest := filepath.Join(dir, "bin"), filepath.Join(dir, "dest")
	must.Do(t, os.Mkdir(bin, 0o755))
	for _, name := range []string{"brig", "brigd", "brigd-queue"} { // the completions are those of brig here
		must.Do(t, os.Symlink(brigBinary(t), filepath.Join(bin, name)))
	}
	install := func(target string, names ...string) error {
		cmd := exec.Command("make", append([]string{"-C", "../..", "-o", "build", target, "BIN=" + bin, "DESTDIR=" + dest,
			"PREFIX=/p"}, names...)...)
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		return err
	}
	at := func(name string) string { return filepath.Join(dest, "p/bin", name) }
	must.Do(t, install("install"))
	for _, name := range []string{"isolate", "bwrap"} {
		if _, err := os.Lstat(at(name)); err == nil {
			t.Errorf("%s is there unasked", name)
		}
	}
	must.Do(t, install("install", "BWRAP=1", "ISOLATE=1"))
	if out, err := exec.Command(at("bwrap"), "--ro-bind", "/", "/", "echo", "hello").CombinedOutput(); string(out) != "hello\n" {
		t.Errorf("%s, %v", out, err)
	}
	if out, err := exec.Command(at("isolate"), "--version").CombinedOutput(); err != nil {
		t.Errorf("%s, %v", out, err)
	}
	same := func(name string) {
		t.Helper()
		brig, other := must.Get(os.Lstat(at("brig")))(t), must.Get(os.Lstat(at(name)))(t)
		if !os.SameFile(brig, other) {
			t.Errorf("%s is no second name of brig: %v", name, other.Mode())
		}
	}
	must.Do(t, os.Remove(at("isolate")))
	must.Do(t, os.Symlink("brig", at("isolate"))) // as earlier versions did
	must.Do(t, install("install"))
	for _, name := range []string{"bwrap", "isolate", "../lib/brig/bwrap", "../lib/brig/isolate"} {
		same(name)
	}
	must.Do(t, os.Remove(at("bwrap")))
	must.Do(t, os.WriteFile(at("bwrap"), must.Get(os.ReadFile(at("brig")))(t), 0o755)) // where there are no hard links
	must.Do(t, install("install"))
	same("bwrap")
	must.Do(t, os.Remove(at("bwrap")))
	must.Do(t, os.WriteFile(at("bwrap"), nil, 0o755))
	if err := install("install", "BWRAP=1"); err == nil {
		t.Error("another bwrap was replaced")
	}
	must.Do(t, install("install"))
	must.Do(t, install("uninstall"))
	if left := must.Get(filepath.Glob(at("*")))(t); len(left) != 1 || left[0] != at("bwrap") {
		t.Errorf("%q are left", left)
	}
	if _, err := os.Lstat(at("../lib/brig")); err == nil {
		t.Error("lib/brig is left")
	}
}
