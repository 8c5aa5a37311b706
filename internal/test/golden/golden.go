// Package golden compares what a test generates with a file of the repository, and rewrites the file with -update.
package golden

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the files that tests generate")

// Update reports whether tests rewrite their files.
func Update() bool { return *update }

// File compares text with a file, or rewrites the file with -update.
func File(t testing.TB, name, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(name); err != nil || string(want) != text {
		t.Errorf("%s is stale (%v); if this is right, run go test -run '^%s$' -update here:\n%s", name, err, t.Name(), text)
	}
}
