package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/asuser"
)

var update = flag.Bool("update", false, "rewrite docs/brigd.8")

// TestManPage: docs/brigd.8 is what brigd man prints.
func TestManPage(t *testing.T) {
	if asuser.Second() {
		t.Skip("it does not depend on the user")
	}
	file := filepath.Join("..", "..", "docs", "brigd.8")
	if *update {
		if err := os.WriteFile(file, []byte(program().ManualPage()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != program().ManualPage() {
		t.Errorf("%s is stale (%v); run go test ./cmd/brigd -run TestManPage -update and read the change", file, err)
	}
}

// TestBashCompletion runs the script in a real bash.
func TestBashCompletion(t *testing.T) {
	for line, want := range map[string]string{
		"brigd se":                           "serve",
		"brigd token k":                      "keygen",
		"brigd audit ver":                    "verify",
		"brigd serve --sandbox-max-":         "--sandbox-max-size --sandbox-max-ttl",
		"brigd serve --tool":                 "",
		"brigd mcp --tool":                   "--tools",
		"brigd serve --log-format j":         "json",
		"brigd serve --log-format = j":       "json",
		"brigd serve --log-format =":         "text json",
		"brigd serve --running ''":           "",
		"brigd mcp --http --audit-sync al":   "always",
		"brigd completion z":                 "zsh",
		"brigd serve --policy minimal --con": "--config",
	} {
		script := program().Completion("bash") + "\nCOMP_WORDS=(" + line + ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_brigd\necho \"${COMPREPLY[*]}\"\n"
		out, err := exec.Command("bash", "--norc", "-c", script).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s: %q, %v; want %q", line, out, err, want)
		}
	}
	for shell, text := range map[string]string{"zsh": program().Completion("zsh"), "fish": program().Completion("fish")} {
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("no %s here", shell)
			continue
		}
		cmd := exec.Command(shell, "-n")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
}
