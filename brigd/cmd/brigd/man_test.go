package main

import (
	"cmp"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/golden"
)

// TestManPage: docs/brigd.8 is what brigd man prints.
func TestManPage(t *testing.T) {
	if asuser.Second() {
		t.Skip("it does not depend on the user")
	}
	golden.File(t, "../../../docs/brigd.8", program().ManualPage())
}

func TestCompletion(t *testing.T) {
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
		"brigd serve --running ":             "",
		"brigd mcp --http --audit-sync al":   "always",
		"brigd completion z":                 "zsh",
		"brigd serve --policy minimal --con": "--config",
	} {
		var got []string
		for offer := range strings.Lines(program().Complete(strings.Split(line, " ")[1:])) {
			name, help, _ := strings.Cut(strings.TrimSuffix(offer, "\n"), "\t")
			got = append(got, cmp.Or(name, help))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
