package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/cli"
)

var update = flag.Bool("update", false, "rewrite docs/brigd-queue.8")

// TestManPage: docs/brigd-queue.8 is the help text.
func TestManPage(t *testing.T) {
	title, text, _ := strings.Cut(usage, "\n\n")
	want := ".TH BRIGD-QUEUE 8 \"\" \"brigd " + cli.Version + "\" \"System Administration\"\n.SH \"NAME\"\n" +
		strings.Replace(escape(title), ":", " \\-", 1) + "\n.SH \"DESCRIPTION\"\n.nf\n" + escape(text) + ".fi\n" +
		".SH \"SEE ALSO\"\n.BR brigd (8)\n"
	file := filepath.Join("..", "..", "docs", "brigd-queue.8")
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != want {
		t.Errorf("%v: run go test ./cmd/brigd-queue -run TestManPage -update", err)
	}
}

// escape writes a text for troff: man(7).
func escape(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`).Replace(s)
}
