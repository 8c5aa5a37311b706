package changes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// exchanging is a world of root's in which an ordinary user owns the directory: theirs has a secret of root's.
func exchanging(t *testing.T, base, upper files) *world {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	base["theirs/"], base["theirs/secret"] = "0700", "0600:s\n"
	w := newWorld(t, base, upper)
	must.Do(t, os.Chown(w.base, 54321, 54321))
	return w
}

// intact checks that the secret and its directory are still root's alone, wherever they are, with nothing new in it.
func (w *world) intact(how string) {
	w.t.Helper()
	must.Do(w.t, filepath.WalkDir(w.base, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "secret" {
			return err
		}
		for _, name := range []string{path, filepath.Dir(path)} {
			var st unix.Stat_t
			must.Do(w.t, unix.Lstat(name, &st))
			if st.Uid != 0 || st.Mode&0o077 != 0 {
				w.t.Errorf("%s: %s belongs to %d and has mode %#o", how, name, st.Uid, st.Mode)
			}
		}
		list, err := os.ReadDir(filepath.Dir(path))
		if len(list) != 1 {
			w.t.Errorf("%s: %v in the secret's directory", how, list)
		}
		return err
	}))
}

// no file, no mode and no owner.
func TestAttackExchangedDirectory(t *testing.T) {
	for what, up := range map[string]files{"file": {"d/n": "n\n"}, "link": {"d/n": "->x"}, "directory": {"d/n/": "0777"},
		"mode": {"d/": "0777"}, "removed": {"d/x": "!", "d/n": "n\n"}} {
		for n, more := 1, true; more; n++ {
			w := exchanging(t, files{"d/x": "x\n", "d/": "0577"}, up)
			must.Do(t, os.Chown(w.base+"/d", 54321, 54321))
			more, _ = atStep(w.capture(), n, ApplyOptions{}, func() {
				must.Do(t, unix.Renameat2(unix.AT_FDCWD, w.base+"/d", unix.AT_FDCWD, w.base+"/theirs", unix.RENAME_EXCHANGE))
			})
			w.intact(fmt.Sprintf("%s at step %d", what, n))
		}
	}
}

// The same before an Apply, or between one that was killed and the next: no other directory gets the mode of the set.
func TestAttackExchangedBefore(t *testing.T) {
	for what, up := range map[string]files{"mode": {"d/": "0777"}, "new": {"n/": "0777", "n/f": "f\n"}, "kind": {"x/": "0777"}} {
		for n, more := 0, true; more; n++ {
			w := exchanging(t, files{"d/x": "x\n", "d/": "0700", "x": "x\n"}, up)
			must.Do(t, os.Chown(w.base+"/d", 54321, 54321))
			set := w.capture()
			more = n == 0 || w.crashAt(n, set.ID)
			for name := range up {
				name, _, _ = strings.Cut(name, "/")
				_ = os.RemoveAll(w.base + "/moved")
				if err := os.Rename(w.base+"/"+name, w.base+"/moved"); err == nil && more {
					must.Do(t, os.Rename(w.base+"/theirs", w.base+"/"+name))
					break
				}
			}
			if set, err := w.store.Find(set.ID); err == nil {
				_, _ = set.Apply(&ApplyOptions{})
			}
			w.intact(fmt.Sprintf("%s after step %d", what, n))
		}
	}
}

// not given away.
func TestAttackExchangedLink(t *testing.T) {
	for n, more := 1, true; more; n++ {
		w := exchanging(t, files{}, files{"l": "->x", "f": "f\n"})
		must.Do(t, os.WriteFile(w.base+"/mine", []byte("m\n"), 0o600))
		more, _ = atStep(w.capture(), n, ApplyOptions{}, func() {
			for _, name := range w.temporary(w.base) {
				if _, err := os.Lstat(name); err == nil {
					must.Do(t, os.Rename(w.base+"/mine", name))
					return
				}
			}
		})
		list := must.Get(os.ReadDir(w.base))(t)
		for _, e := range list {
			var st unix.Stat_t
			must.Do(t, unix.Lstat(filepath.Join(w.base, e.Name()), &st))
			if text, err := os.ReadFile(filepath.Join(w.base, e.Name())); err == nil && string(text) == "m\n" && st.Uid != 0 {
				t.Errorf("step %d: %s belongs to %d", n, e.Name(), st.Uid)
			}
		}
	}
}
