package tools

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What is no file is not waited for.
func TestLoadWaitsForNobody(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(fifo); err == nil || !strings.Contains(err.Error(), "no regular file; name one") {
		t.Error(err)
	}
}
