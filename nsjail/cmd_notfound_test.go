package nsjail

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestRemedyWorks does what the error about a missing command says, and the command runs.
func TestRemedyWorks(t *testing.T) {
	for _, layout := range []struct{ name, file, link string }{
		{"plain", "bin/mytool", ""}, {"with lib", "bin/mytool", ""}, {"pyenv shim", "versions/3/bin/mytool", "shims/mytool"},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, layout.file)
		for _, d := range []string{filepath.Dir(file), filepath.Join(dir, filepath.Dir(layout.link)), filepath.Join(filepath.Dir(filepath.Dir(file)), "lib")} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\necho found\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		onPath := filepath.Dir(file)
		if layout.link != "" {
			onPath = filepath.Join(dir, filepath.Dir(layout.link))
			if err := os.Symlink(file, filepath.Join(dir, layout.link)); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("PATH", onPath+":"+os.Getenv("PATH"))
		_, err := Command("mytool").Run()
		var e *Error
		if !errors.Is(err, ErrNotFound) || !errors.As(err, &e) {
			t.Fatalf("%s: %v", layout.name, err)
		}
		m := regexp.MustCompile(`the host has it as (\S+); add --ro-bind (\S+) (\S+) and name it in full`).FindStringSubmatch(e.Remedy)
		if m == nil {
			t.Fatalf("%s: the remedy %q names no flag", layout.name, e.Remedy)
		}
		c := Command(m[1])
		c.Spec.Mounts = []Mount{{Type: MountBind, Source: m[2], Target: m[3]}}
		wantOutput(t, c, "found")
	}
}
