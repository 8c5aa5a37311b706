package main

import (
	"context"
	"embed"
	"os"
	"path/filepath"
	"testing"

	"brig/internal/test/asuser"
	"brig/nsjail"
)

//go:embed sum submissions
var files embed.FS

// TestMain runs the suite as root and again as an ordinary user.
func TestMain(m *testing.M) { os.Exit(asuser.Main(m)) }

func TestVerdicts(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	cases, err := readCases(filepath.Join(dir, "sum"))
	if err != nil {
		t.Fatal(err)
	}
	runner, err := nsjail.NewRunner()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := runner.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, c := range []struct{ submission, want string }{
		{"right.py", "accepted"},
		{"wrong.py", "wrong answer"},
		{"crash.py", "runtime error"},
		{"slow.py", "time limit exceeded"},
		{"sleepy.py", "time limit exceeded"},
		{"flood.py", "time limit exceeded"}, // it writes for as long as it may; what it writes is dropped
		{"thief.py", "runtime error"},       // it finds no answers, and no network: OSError
	} {
		t.Run(c.submission, func(t *testing.T) {
			t.Parallel()
			v, err := judge(context.Background(), runner, filepath.Join(dir, "submissions", c.submission), cases)
			if err != nil || v.Name != c.want {
				t.Errorf("got %+v, %v; want %s", v, err, c.want)
			}
		})
	}
}
