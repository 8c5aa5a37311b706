package trace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestSecrets: a directory is private for a name in it, and, if permissions count, for a file or directory that not every
// user may read. A symbolic link in it shows nothing.
func TestSecrets(t *testing.T) {
	for _, c := range []struct {
		name          string
		mode          os.FileMode
		any, everyone bool // private: by its names, and by its permissions
	}{
		{"lib/code", 0o644, false, false}, {"lib/.env", 0o644, true, true}, {"lib/key", 0o640, false, true},
		{"shut", 0o711, false, true}, {"link", os.ModeSymlink, false, false},
	} {
		dir := t.TempDir()
		at := filepath.Join(dir, c.name)
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		switch {
		case c.mode.Type() == os.ModeSymlink:
			err = errors.Join(err, os.Symlink("/root", at))
		case c.mode&0o111 != 0:
			err = errors.Join(err, os.Mkdir(at, 0o700), os.Chmod(at, c.mode))
		default:
			err = errors.Join(err, os.WriteFile(at, nil, 0o600), os.Chmod(at, c.mode))
		}
		if err != nil {
			t.Fatal(err)
		}
		if any, everyone := (&World{}).Secrets(dir, false), (&World{}).Secrets(dir, true); any != c.any || everyone != c.everyone {
			t.Errorf("%s: %v, %v", c.name, any, everyone)
		}
	}
}
