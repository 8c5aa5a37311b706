package cgroup

import (
	"os"
	"path/filepath"
	"testing"

	"brig/internal/test/must"
)

// TestDelegatedIn reads units as a user's manager would find them.
func TestDelegatedIn(t *testing.T) {
	weak, strong := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(weak, "plain.scope"):                "[Scope]\nSlice=app.slice\n",
		filepath.Join(weak, "run.scope"):                  "[Scope]\nDelegate=yes\n",
		filepath.Join(weak, "list.service"):               "[Service]\n Delegate = cpu memory\n",
		filepath.Join(weak, "last.service"):               "[Service]\nDelegate=yes\nDelegate=no\n",
		filepath.Join(weak, "over.service"):               "[Service]\nDelegate=yes\n",
		filepath.Join(strong, "over.service"):             "[Service]\n",
		filepath.Join(weak, "part.service"):               "[Service]\n",
		filepath.Join(strong, "part.service.d", "a.conf"): "[Service]\nDelegate=on\n",
		filepath.Join(weak, "minus.service"):              "[Service]\nDelegate=on\n",
		filepath.Join(weak, "minus.service.d", "9.conf"):  "[Service]\nDelegate=FALSE\n",
		filepath.Join(weak, "shell@.service"):             "[Service]\nDelegate=true\n",
		filepath.Join(weak, "commented.service"):          "[Service]\n#Delegate=yes\n",
	} {
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	}
	for unit, want := range map[string]bool{"plain.scope": false, "run.scope": true, "list.service": true, "last.service": false, "over.service": false,
		"part.service": true, "minus.service": false, "shell@7.service": true, "commented.service": false, "none.scope": false} {
		if got := delegatedIn([]string{weak, strong}, unit); got != want {
			t.Errorf("%s: %v, want %v", unit, got, want)
		}
	}
}
