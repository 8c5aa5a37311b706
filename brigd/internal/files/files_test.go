package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brig/internal/test/must"
)

func TestRead(t *testing.T) {
	d := t.TempDir()
	fifo, good := filepath.Join(d, "fifo"), filepath.Join(d, "good")
	must.Do(t, unix.Mkfifo(fifo, 0o600))
	must.Do(t, os.WriteFile(good, []byte("12345"), 0o600))
	if text, err := Read(good, 5); string(text) != "12345" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	for path, want := range map[string]string{fifo: "no regular file; name one", d: "no regular file", "/dev/zero": "no regular file", d + "/none": "no such file or directory; name a file"} {
		if _, err := Read(path, 5); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := ReadSecret(good, 5); err != nil {
		t.Error(err)
	}
	must.Do(t, os.Chmod(good, 0o646))
	if _, err := ReadSecret(good, 5); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("everybody may use it: %v", err)
	}
	if _, err := Read(good, 4); err == nil || !strings.Contains(err.Error(), "larger than 4 bytes") {
		t.Error(err)
	}
}
