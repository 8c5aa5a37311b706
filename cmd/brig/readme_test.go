package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

// The README's command lines are run as they stand, in a directory that holds what they speak of. Lines that want a
// terminal have tests of their own.
func TestReadmeCommands(t *testing.T) {
	if asuser.Second() {
		t.Skip("the ordinary user may not read the README")
	}
	readme := must.Get(os.ReadFile(filepath.Join("..", "..", "README.md")))(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"untrusted": "#!/bin/sh\necho out\n",
		"Makefile":  "test:\n\t@echo tested >tested\n",
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	ran := 0
	for _, line := range regexp.MustCompile(`(?m)^    (?:\$ )?((?:brig|mkdir) .*)$`).FindAllStringSubmatch(string(readme), -1) {
		if strings.Contains(line[1], "--tty") || strings.Contains(line[1], " --image ") || strings.Contains(line[1], " pdflatex ") { // it wants a terminal, a registry, TeX
			continue
		}
		ran++
		command := line[1]
		if strings.Contains(command, " pip ") { // it wants the internet
			command = strings.Replace(command, "brig run", "brig explain", 1)
		}
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "BRIG_CHANGES="+filepath.Join(dir, "changes"), "PATH="+filepath.Dir(brigBinary(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil && os.Geteuid() != 0 && strings.Contains(string(out), ": control group: ") {
			t.Logf("%s: this user has no group to divide: %s", line[1], out)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v\n%.1000s", line[1], err, out)
		}
	}
	for _, made := range []string{"out/answer", "tested", "job.json"} {
		if _, err := os.Stat(filepath.Join(dir, made)); err != nil {
			t.Error(err)
		}
	}
	if ran < 10 {
		t.Errorf("only %d command lines found", ran)
	}
}
