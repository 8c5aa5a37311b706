package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

// shareReadme copies what TestReadme reads to where the ordinary user may read it, too.
func shareReadme(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "clients", "python"), 0o755); err != nil {
		return err
	}
	for _, name := range []string{"README.md", "clients/python/brig.py"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// What README.md promises for the first 60 seconds works, line by line, in a directory that looks like a checkout.
func TestReadme(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join(asuser.Dir(), "README.md")))(t)
	_, rest, _ := strings.Cut(string(text), "## 60 seconds to an agent\n")
	block, _, _ := strings.Cut(strings.TrimSpace(rest), "\n\n")
	var lines []string
	for line := range strings.Lines(block) {
		lines = append(lines, strings.TrimSpace(line))
	}
	if len(lines) != 5 || lines[0] != "make build" || !strings.HasSuffix(lines[1], " &") {
		t.Fatalf("the block has changed: %q", lines)
	}
	d := dir(t)
	must.Do(t, os.Mkdir(filepath.Join(d, "bin"), 0o755))
	for from, to := range map[string]string{brigd(t): "bin/brigd", filepath.Join(asuser.Dir(), "clients"): "clients"} {
		must.Do(t, os.Symlink(from, filepath.Join(d, to)))
	}
	// As it is pasted: one line after the other, whether or not brigd is ready. The last goes on; the box sleeps, and is
	// asked again.
	script := strings.Join(lines[1:], "\n") + ` >urls &
until grep -q 127.0.0.1: urls; do sleep .02; done
url=$(tail -n 1 urls); curl -sS --retry 9 --retry-all-errors $url
curl -sS -X POST --unix-socket brigd.sock http://brigd/v1/sandboxes/$box/freeze
bin/brigd box ps; curl -sS $url; kill $(jobs -p); wait
`
	sh := exec.Command("bash", "-c", script)
	sh.Dir = d
	out, err := sh.CombinedOutput()
	if n := strings.Count(string(out), "</html>"); n != 2 {
		t.Errorf("the page was shown %d times", n)
	}
	for _, want := range []string{`"stdout":"42\n"`, "\n42\n", "Directory listing", " frozen "} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
}
