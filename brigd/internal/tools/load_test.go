package tools

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brig/internal/test/must"
)

// What is no file is not waited for.
func TestLoadWaitsForNobody(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	must.Do(t, unix.Mkfifo(fifo, 0o600))
	if _, err := Load(fifo); err == nil || !strings.Contains(err.Error(), "no regular file; name one") {
		t.Error(err)
	}
}
