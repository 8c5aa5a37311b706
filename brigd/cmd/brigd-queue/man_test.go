package main

import (
	"strings"
	"testing"

	"brig/internal/cli"
	"brig/internal/test/golden"
)

// TestManPage: docs/brigd-queue.8 is the help text.
func TestManPage(t *testing.T) {
	title, text, _ := strings.Cut(usage, "\n\n")
	want := ".TH BRIGD-QUEUE 8 \"\" \"brigd " + cli.Version + "\" \"System Administration\"\n.SH \"NAME\"\n" +
		strings.Replace(escape(title), ":", " \\-", 1) + "\n.SH \"DESCRIPTION\"\n.nf\n" + escape(text) + ".fi\n" +
		".SH \"SEE ALSO\"\n.BR brigd (8)\n"
	golden.File(t, "../../../docs/brigd-queue.8", want)
}

// escape writes a text for troff: man(7).
func escape(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`).Replace(s)
}
