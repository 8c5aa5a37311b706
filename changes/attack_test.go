package changes

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// outside makes a directory beside the base that no Apply may change.
func (w *world) outside() (dir string, check func()) {
	dir = filepath.Join(filepath.Dir(w.base), "outside")
	files{"x": "outside\n", "y": "outside\n", "sub/x": "outside\n"}.make(w.t, dir)
	before := snapshot(w.t, dir)
	return dir, func() {
		w.t.Helper()
		equal(w.t, snapshot(w.t, dir), before)
	}
}

// atStep applies the set and calls attack at the nth step; ok is false if there were fewer.
func atStep(set *Set, n int, o ApplyOptions, attack func()) (ok bool, err error) {
	o.step = func(string) error {
		if n--; n == 0 {
			attack()
		}
		return nil
	}
	_, err = set.Apply(&o)
	return n <= 0, err
}

// Somebody puts a symbolic link that leads out in the place of a directory, at each step.
func TestAttackDirectoryBecomesLink(t *testing.T) {
	for _, up := range []files{
		{"d/x": "X\n", "d/y": "!", "d/sub/x": "X\n"},
		{"a": "a\n", "d/sub/added": "a\n", "z": "z\n"}, {"a": "a\n", "d/added": "a\n"},
		{"a": "a\n", "d/dir/": "", "d/dir/n": "n\n", "d/sub": "!"},
	} {
		for n, more := 1, true; more; n++ {
			w := newWorld(t, files{"d/x": "x\n", "d/y": "y\n", "d/sub/x": "x\n"}, up)
			_, check := w.outside()
			set := w.capture()
			more, _ = atStep(set, n, ApplyOptions{Force: true}, func() {
				must.Do(t, os.Rename(w.base+"/d", w.base+"/moved"))
				must.Do(t, os.Symlink("../outside", w.base+"/d"))
			})
			check()
			if t.Failed() {
				t.Fatal("step", n)
			}
			if set, err := w.store.Find(set.ID); err == nil {
				_, _ = set.Apply(&ApplyOptions{Force: true})
				check()
			}
		}
	}
}

// Somebody puts a symbolic link in the place of a file, at each step.
func TestAttackFileBecomesLink(t *testing.T) {
	for n, more := 1, true; more; n++ {
		w := newWorld(t, files{"x": "x\n", "y": "y\n"}, files{"x": "0755:X\n", "y": "!"})
		dir, check := w.outside()
		set := w.capture()
		more, _ = atStep(set, n, ApplyOptions{Force: true}, func() {
			for _, name := range []string{"x", "y"} {
				_ = os.Remove(filepath.Join(w.base, name))
				must.Do(t, os.Symlink(filepath.Join(dir, name), filepath.Join(w.base, name)))
			}
		})
		check()
		if t.Failed() {
			t.Fatal("step", n)
		}
	}
}

// The host writes to a file at each step of the Apply: what it wrote is there in the end, under the file's name.
func TestHostWritesDuringApply(t *testing.T) {
	for n, more := 1, true; more; n++ {
		w := newWorld(t, files{"x": "x\n", "y": "y\n"}, files{"x": "run\n", "y": "!", "z": "run\n"})
		set := w.capture()
		var err error
		more, err = atStep(set, n, ApplyOptions{}, func() {
			for _, name := range []string{"x", "y", "z"} {
				next := filepath.Join(w.base, ".next") // as an editor does
				must.Do(t, os.WriteFile(next, []byte("host\n"), 0o644))
				must.Do(t, os.Rename(next, filepath.Join(w.base, name)))
			}
		})
		if !more {
			must.Do(t, err)
			return
		}
		got := snapshot(t, w.base)
		if got["x"] != "0644:host\n" || got["y"] != "0644:host\n" || got["z"] != "0644:host\n" || len(got) != 3 {
			t.Fatalf("step %d: %q, %v", n, got, err)
		}
	}
}

// A file of the directory has a second name outside of it, which keeps its content and its mode.
func TestAttackHardLink(t *testing.T) {
	w := newWorld(t, files{}, files{"x": "0755:run\n", "y": "0777:outside\n"})
	dir, check := w.outside()
	must.Do(t, os.Link(dir+"/x", w.base+"/x"))
	must.Do(t, os.Link(dir+"/y", w.base+"/y"))
	must.Get(w.capture().Apply(&ApplyOptions{}))(t)
	check()
	equal(t, snapshot(t, w.base), files{"x": "0755:run\n", "y": "0777:outside\n"})
}

// A directory has become a link, a FIFO is in a file's place: refused, and nothing waits for a writer.
func TestAttackAfterTheRun(t *testing.T) {
	w := newWorld(t, files{"d/x": "x\n", "f": "f\n"}, files{"d/x": "X\n", "d/n": "n\n", "f": "F\n"})
	_, check := w.outside()
	set := w.capture()
	must.Do(t, os.Rename(w.base+"/d", w.base+"/moved"))
	must.Do(t, os.Symlink("../outside", w.base+"/d"))
	must.Do(t, os.Remove(w.base+"/f"))
	must.Do(t, unix.Mkfifo(w.base+"/f", 0o644))
	var refused *ConflictError
	if _, err := set.Apply(&ApplyOptions{}); !errors.As(err, &refused) || len(refused.List) != 3 {
		t.Errorf("%v", err)
	}
	if _, err := set.Apply(&ApplyOptions{Force: true}); !errors.As(err, &refused) || len(refused.List) != 2 {
		t.Errorf("--force goes through a symbolic link: %v", err)
	}
	check()
}

// Every byte of a set is covered by its id: a set with a changed byte is not applied.
func TestAttackTampered(t *testing.T) {
	for _, name := range []string{headerFile, filesFile, layerFile} {
		for _, at := range []int{0, 1, 3, 7} {
			w := newWorld(t, base, upper)
			before := snapshot(t, w.base)
			set := w.capture()
			path := filepath.Join(w.store.dir.Path(), set.ID, name)
			text, err := os.ReadFile(path)
			must.Do(t, err)
			text[len(text)*at/8] ^= 1
			must.Do(t, os.WriteFile(path, text, 0o600))
			again, err := w.store.Find(set.ID)
			if err == nil {
				_, err = again.Apply(&ApplyOptions{Force: true})
			}
			var damaged *DamagedError
			if !errors.As(err, &damaged) || damaged.ID != set.ID {
				t.Errorf("%s, byte %d of %d: %v", name, len(text)*at/8, len(text), err)
			}
			equal(t, snapshot(t, w.base), before)
			if sets, err := w.store.List(); name == headerFile && (len(sets) > 0 || err == nil) {
				t.Errorf("the list has it: %v", err)
			}
			must.Do(t, w.store.Remove(set.ID))
		}
	}
}

// The token of a forged journal is not used for file names.
func TestAttackJournal(t *testing.T) {
	for _, text := range []string{"", "{}", `{"token":"../../../../x"}`, `{"token":"0123456789abcdef","other":1}`} {
		w := newWorld(t, base, upper)
		set := w.capture()
		must.Do(t, os.WriteFile(filepath.Join(w.store.dir.Path(), set.ID, journalFile), []byte(text), 0o600))
		var damaged *DamagedError
		if _, err := set.Apply(&ApplyOptions{}); !errors.As(err, &damaged) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A set is not applied to another directory at its path.
func TestAttackDirectoryReplaced(t *testing.T) {
	w := newWorld(t, files{"x": "x\n"}, files{"x": "X\n"})
	set := w.capture()
	must.Do(t, os.Rename(w.base, w.base+".moved"))
	files{"x": "x\n"}.make(t, w.base)
	if _, err := set.Apply(&ApplyOptions{}); err == nil || !strings.Contains(err.Error(), "not the directory that the run saw") {
		t.Error(err)
	}
	if _, err := set.Apply(&ApplyOptions{Force: true}); err == nil {
		t.Error("--force applies to another directory")
	}
	must.Get(set.Apply(&ApplyOptions{Allow: []string{"."}}))(t)
	equal(t, snapshot(t, w.base), files{"x": "0644:X\n"})
}

// Protected paths are refused under any case of letters, with what would hide them, and each must be named.
func TestAttackProtected(t *testing.T) {
	for _, up := range []files{
		{".conf/hooks/pre-commit": "x"}, {".CONF/Hooks/pre-commit": "x"}, {".conf/hooks": "!"}, {".conf": "->elsewhere"},
		{".conf/hooks/": "0777"}, {".conf/hooks": "file"}, {".conf/hooks/sample": "!"},
	} {
		w := newWorld(t, files{".conf/hooks/sample": "s\n", "a": "a\n"}, up)
		files{"a": "b\n"}.make(t, w.upper)
		w.run.Protect = []Name{".conf/hooks", ".envrc"}
		before := snapshot(t, w.base)
		set := w.capture()
		var refused *ConflictError
		for _, o := range []ApplyOptions{{}, {Force: true}, {Allow: []string{".envrc", ".conf"}}} {
			if _, err := set.Apply(&o); !errors.As(err, &refused) || !strings.Contains(err.Error(), "protected") {
				t.Errorf("%q: %v", up, err)
			}
		}
		equal(t, snapshot(t, w.base), before)
		if _, err := set.Apply(&ApplyOptions{Paths: []string{"a"}}); err != nil {
			t.Errorf("%q: the rest: %v", up, err)
		}
		if _, err := set.Apply(&ApplyOptions{Allow: []string{".conf/hooks/"}}); err != nil {
			t.Errorf("%q: named: %v", up, err)
		}
	}
}

// No name or text of a payload's steers a terminal, or looks like another line of the diff.
func TestAttackTerminal(t *testing.T) {
	evil := "e\x1b]0;x\a\n+++ b/passwd\r\u202e\xff"
	w := newWorld(t, files{"f": "1\n"}, files{evil: "2\x1b[2J\r\n\u202etxt\xff\n", "f": "\x1b[31mred\n", "l": "->" + evil, ".env\u0301": "x\n"})
	set := w.capture()
	var b strings.Builder
	must.Do(t, set.Diff(&b, &DiffOptions{Escape: true}))
	for _, line := range strings.Split(b.String(), "\n") {
		if strings.ContainsAny(line, "\x1b\a\r") || strings.IndexByte(line, 0xff) >= 0 ||
			strings.ContainsRune(line, 0x202e) || strings.HasPrefix(line, "+++ b/passwd") {
			t.Errorf("%q", line)
		}
	}
	must.Get(set.Apply(&ApplyOptions{}))(t)
	if got := snapshot(t, w.base); len(got) != 5 || got["l"] != "->"+evil {
		t.Errorf("%q", got)
	}
}

// No file is made with more than the permissions, and what the host had of them goes with its content.
func TestAttackSetUserID(t *testing.T) {
	w := newWorld(t, files{"x": "x\n"}, files{"x": "X\n", "y": "Y\n", "d/": ""})
	for _, name := range []string{"x", "y", "d"} {
		must.Do(t, unix.Chmod(filepath.Join(w.upper, name), 0o7755))
	}
	must.Do(t, unix.Chmod(w.base+"/x", 0o4755))
	must.Get(w.capture().Apply(&ApplyOptions{}))(t)
	for _, name := range []string{"x", "y", "d"} {
		st := must.Get(os.Lstat(filepath.Join(w.base, name)))(t)
		if st.Mode()&(os.ModeSetuid|os.ModeSetgid|os.ModeSticky) != 0 {
			t.Errorf("%s has mode %v", name, st.Mode())
		}
	}
}

// Two names of one file in the layer, the first of which is no change.
func TestHardLinksOfTheRun(t *testing.T) {
	w := newWorld(t, files{"a": "same\n"}, files{"a": "same\n", "b": "other\n"})
	must.Do(t, os.Link(w.upper+"/a", w.upper+"/c"))
	must.Do(t, os.Link(w.upper+"/b", w.upper+"/d"))
	must.Get(w.capture().Apply(&ApplyOptions{}))(t)
	equal(t, snapshot(t, w.base), files{"a": "0644:same\n", "b": "0644:other\n", "c": "0644:same\n", "d": "0644:other\n"})
}

// Extended attributes of the namespace user are applied; overlayfs's own are not.
func TestAttributes(t *testing.T) {
	w := newWorld(t, files{"x": "x\n", "y": "y\n"}, files{"x": "x\n", "y": "y\n", "d/": ""})
	set := func(path, name, value string) {
		if err := unix.Setxattr(path, name, []byte(value), 0); err == unix.ENOTSUP {
			t.Skip("the file system of the temporary directory has no attributes in the namespace user")
		} else {
			must.Do(t, err)
		}
	}
	set(w.base+"/y", "user.gone", "1")
	set(w.upper+"/x", "user.a", "1")
	set(w.upper+"/x", "user.overlay.origin", "1")
	set(w.upper+"/y", "user.overlay.impure", "y")
	set(w.upper+"/d", "user.\xff", "2")
	done := must.Get(w.capture().Apply(&ApplyOptions{}))(t)
	if len(done.Files) != 3 {
		t.Errorf("%d changes", len(done.Files))
	}
	for path, want := range map[string][]string{"x": {"user.a"}, "y": nil, "d": {"user.\xff"}} {
		list := make([]byte, 1000)
		n := must.Get(unix.Listxattr(filepath.Join(w.base, path), list))(t)
		got := slices.DeleteFunc(strings.Split(string(list[:n]), "\x00"), func(s string) bool { return !strings.HasPrefix(s, "user.") })
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q", path, got)
		}
	}
}

// A large file of the host's that a run deletes is compared by its inode, time and size, and not read.
func TestAttackLargeFileDeleted(t *testing.T) {
	w := newWorld(t, files{"large": "", "a": "1\n"}, files{"large": "!"})
	name := filepath.Join(w.base, "large")
	must.Do(t, os.Truncate(name, maxHashed+1))
	set := w.capture()
	list, err := set.Files()
	must.Do(t, err)
	if len(list) != 1 || list[0].Old.Size != maxHashed+1 || list[0].Old.SHA256 != "" {
		t.Fatalf("%+v", list)
	}
	st, err := os.Stat(name)
	must.Do(t, err)
	must.Do(t, os.Chtimes(name, time.Time{}, st.ModTime().Add(time.Second)))
	if _, err := set.Apply(&ApplyOptions{}); err == nil {
		t.Error("a large file that has changed since was deleted")
	}
	must.Do(t, os.Chtimes(name, time.Time{}, st.ModTime()))
	if _, err = set.Apply(&ApplyOptions{}); err != nil {
		t.Error(err)
	}
	equal(t, snapshot(t, w.base), files{"a": "0644:1\n"})
}
