package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

// TestInstall: make install puts what it is told to below DESTDIR, with the names of isolate and bwrap as links that never
// replace a file, and make uninstall removes no more than that.
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
	if err := install("install", "BWRAP=1"); err == nil {
		t.Error("a bwrap that is there was replaced")
	}
	must.Do(t, install("uninstall"))
	if left, err := filepath.Glob(at("*")); len(left) > 0 {
		t.Errorf("%q are left, %v", left, err)
	}
}
