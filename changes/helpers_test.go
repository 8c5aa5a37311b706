package changes

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/internal/test/asuser"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// TestMain runs the suite as root and as an ordinary user.
func TestMain(m *testing.M) {
	if os.Getenv(crashVar) != "" {
		os.Exit(crash())
	}
	os.Exit(inMemory(func() int { return asuser.Main(m) }))
}

// disk is where TestMain found temporary files.
var disk = os.TempDir()

// inMemory runs the user's suite in a tmpfs that holds extended attributes, if the machine has one (Linux 6.6), while
// root's runs on disk: an Apply ends with syncfs(2), which waits for all that others write there.
func inMemory(suite func() int) int {
	if !asuser.Second() {
		return suite()
	}
	dir, err := os.MkdirTemp("/dev/shm", "brig-test-")
	if err != nil {
		return suite()
	}
	if unix.Setxattr(dir, "user.brig", []byte("x"), 0) == nil {
		os.Setenv("TMPDIR", dir)
	}
	code := suite()
	if os.RemoveAll(dir) != nil {
		return max(code, 1)
	}
	return code
}

// files is a tree: what ends in a slash is a directory, whose text is its mode; a text that begins with "->" is a
// symbolic link, "!" a whiteout, and "opaque" an opaque directory; "0600:text" is a file with a mode.
type files map[string]string

func (list files) make(t *testing.T, root string) string {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(list)) {
		text, path := list[name], filepath.Join(root, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		switch {
		case strings.HasSuffix(name, "/"):
			must.Do(t, os.MkdirAll(path, 0o755))
			if text == "opaque" {
				must.Do(t, unix.Setxattr(path, "user.overlay.opaque", []byte("y"), 0))
			} else if text != "" {
				defer func() { must.Do(t, unix.Chmod(path, octal(t, text))) }() // after what is in it
			}
		case text == "!":
			must.Do(t, unix.Mknod(path, unix.S_IFCHR, 0))
		case strings.HasPrefix(text, "->"):
			must.Do(t, os.Symlink(text[2:], path))
		default:
			mode := uint32(0o644)
			if len(text) > 4 && text[0] == '0' && text[4] == ':' {
				mode, text = octal(t, text[:4]), text[5:]
			}
			must.Do(t, os.WriteFile(path, []byte(text), 0o600))
			must.Do(t, unix.Chmod(path, mode))
		}
	}
	return root
}

func octal(t *testing.T, s string) (mode uint32) {
	t.Helper()
	must.Get(fmt.Sscanf(s, "%o", &mode))(t)
	return mode
}

// snapshot is the opposite of make.
func snapshot(t *testing.T, root string) files {
	t.Helper()
	list := files{}
	must.Do(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name := strings.TrimPrefix(path, root+"/")
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := fmt.Sprintf("%04o", info.Mode().Perm())
		switch {
		case d.IsDir():
			list[name+"/"] = mode
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			list[name] = "->" + target
			return err
		case d.Type().IsRegular():
			text, err := os.ReadFile(path)
			list[name] = mode + ":" + string(text)
			return err
		default:
			list[name] = d.Type().String()
		}
		return nil
	}))
	return list
}

func equal(t *testing.T, got, want files) {
	t.Helper()
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%q is %q; want %q", name, got[name], text)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%q should not exist", name)
		}
	}
}

// world is a directory, the upper directory of a run in it, and a store.
type world struct {
	t           *testing.T
	base, upper string
	store       *Store
	run         Run
}

func newWorld(t *testing.T, base, upper files) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, base: filepath.Join(dir, "base"), upper: filepath.Join(dir, "upper")}
	must.Do(t, os.Mkdir(w.base, 0o755))
	must.Do(t, os.Mkdir(w.upper, 0o755))
	base.make(t, w.base)
	upper.make(t, w.upper)
	var err error
	w.store, err = Open(filepath.Join(dir, "store"))
	must.Do(t, err)
	t.Cleanup(func() { w.store.Close() })
	w.run = Run{Command: []Name{"make"}, Status: "ok", Started: time.Now().Add(time.Second), Ended: time.Now(), Target: "/work"}
	return w
}

func (w *world) capture() *Set {
	w.t.Helper()
	return w.captured().Set
}

func (w *world) captured() *Captured {
	w.t.Helper()
	base, err := os.Open(w.base)
	must.Do(w.t, err)
	defer base.Close()
	upper, err := os.Open(w.upper)
	must.Do(w.t, err)
	defer upper.Close()
	done, err := w.store.Capture(context.Background(), base, upper, w.base, &w.run)
	must.Do(w.t, err)
	return done
}

// summary returns a line for each change: the sign of its kind, the path, and numbers of lines.
func summary(t *testing.T, set *Set) (lines []string) {
	t.Helper()
	if set == nil {
		return nil
	}
	list := must.Get(set.Files())(t)
	for _, f := range list {
		lines = append(lines, fmt.Sprintf("%s %s +%d -%d", f.Op(), f.Path, f.Added, f.Removed))
	}
	return lines
}
