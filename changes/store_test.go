package changes

import (
	"bytes"
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

func TestFind(t *testing.T) {
	w := newWorld(t, files{"x": "x\n"}, files{"x": "X\n"})
	set := w.capture()
	for prefix, ok := range map[string]bool{set.ID: true, set.ID[:4]: true, set.ID[:40]: true, set.ID[:3]: false, "": false,
		"../" + set.ID: false, strings.ToUpper(set.ID[:20]) + "X": false, set.ID + "0": false, "zzzz": false} {
		got, err := w.store.Find(prefix)
		if (err == nil) != ok || ok && got.ID != set.ID {
			t.Errorf("%q: %v", prefix, err)
		}
	}
	if short := w.store.Short(set.ID); short != set.ID[:4] {
		t.Error(short)
	}
	twin := set.ID[:6] + strings.Repeat("0", 58) // damaged, but an id
	must.Do(t, os.Mkdir(w.store.dir.Path()+"/"+twin, 0o700))
	if short := w.store.Short(set.ID); len(short) < 7 {
		t.Error(short)
	}
	if _, err := w.store.Find(set.ID[:4]); err == nil || !strings.Contains(err.Error(), "several") {
		t.Error(err)
	}
	sets, err := w.store.List()
	var damaged *DamagedError
	if len(sets) != 1 || !errors.As(err, &damaged) || damaged.ID != twin {
		t.Error(len(sets), err)
	}
	must.Do(t, w.store.Remove(twin))
	must.Do(t, set.Discard(false))
	if left, err := w.store.dir.Names(func(string) bool { return true }); err != nil || len(left) > 0 {
		t.Errorf("%q %v", left, err)
	}
}

// Sets that exceed the bounds are removed, the oldest first; never the newest set, one that is half applied, or one in
// use.
func TestExpire(t *testing.T) {
	w := newWorld(t, files{"x": "x\n"}, files{"x": "X\n"})
	w.store.Limits = Limits{Age: time.Hour, Count: 3, Bytes: 1 << 30}
	now := time.Now()
	var ids []string
	for i := range 6 {
		w.run.Ended = now.Add(-time.Duration(6-i) * time.Minute)
		if i == 0 {
			w.run.Ended = now.Add(-2 * time.Hour)
		}
		set := w.capture()
		ids = append(ids, set.ID)
		if i == 1 {
			must.Get(set.begin(&ApplyOptions{}))(t)
		}
		if i == 2 {
			lock := must.Get(w.store.lock(set.ID))(t)
			defer lock.Close()
		}
	}
	left, err := w.store.IDs()
	must.Do(t, err)
	if want := slices.Sorted(slices.Values(ids[1:])); !slices.Equal(left, want) {
		t.Errorf("%q of %q", left, ids)
	}
	w.store.Limits.Bytes, w.run.Ended = 1, now // ids[1] and ids[2] stay nevertheless
	last := w.capture()
	if left, err = w.store.IDs(); err != nil || !slices.Contains(left, last.ID) || len(left) != 3 {
		t.Errorf("%q, %v", left, err)
	}
}

// What a killed process has left is removed by the next Capture, and what a living one writes is not.
func TestDraftsOfTheDead(t *testing.T) {
	w := newWorld(t, files{"x": "x\n"}, files{"x": "X\n"})
	must.Do(t, os.Mkdir(w.store.dir.Path()+"/"+draftPrefix+"dead", 0o700))
	name, lock, err := w.store.draft()
	must.Do(t, err)
	defer lock.Close()
	w.capture()
	left, err := w.store.dir.Names(func(string) bool { return true })
	if err != nil || len(left) != 2 || left[0] != name {
		t.Errorf("%q, %v", left, err)
	}
}

// A store that other users may write to is refused.
func TestStoreOfOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	must.Do(t, os.Mkdir(dir, 0o700))
	must.Do(t, os.Chmod(dir, 0o770))
	if _, err := Open(dir); err == nil {
		t.Error("a store that the group may write to is opened")
	}
	if os.Geteuid() == 0 {
		must.Do(t, os.Chmod(dir, 0o700))
		must.Do(t, os.Chown(dir, 12345, -1))
		if _, err := Open(dir); err == nil {
			t.Error("a store of somebody else is opened")
		}
	}
}

// Two processes do not apply one set at once.
func TestApplyIsLocked(t *testing.T) {
	w := newWorld(t, files{"x": "x\n"}, files{"x": "X\n"})
	set := w.capture()
	must.Get(atStep(set, 1, ApplyOptions{}, func() {
		again := must.Get(w.store.Find(set.ID))(t)
		if _, err := again.Apply(&ApplyOptions{}); !errors.Is(err, errBusy) {
			t.Error(err)
		}
		if err := again.Discard(true); !errors.Is(err, errBusy) {
			t.Error(err)
		}
	}))(t)
}

// Nothing in the store makes a command wait or read without end: not a FIFO, a link or a directory in the place of a file.
func TestStoreOfOddFiles(t *testing.T) {
	odd := map[string]func(string) error{
		"FIFO":      func(name string) error { return unix.Mkfifo(name, 0o600) },
		"link":      func(name string) error { return os.Symlink("../../base/x", name) },
		"device":    func(name string) error { return os.Symlink("/dev/zero", name) },
		"directory": func(name string) error { return os.Mkdir(name, 0o700) },
	}
	for what, put := range odd {
		for _, file := range []string{headerFile, filesFile, layerFile, journalFile} {
			w := newWorld(t, files{"x": "x\n"}, files{"x": "X\n"})
			set := w.capture()
			path := filepath.Join(w.store.dir.Path(), set.ID, file)
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			must.Do(t, put(path))
			_, listed := w.store.List()
			again, err := w.store.Find(set.ID)
			if err == nil && file != journalFile {
				err = again.Diff(&bytes.Buffer{}, &DiffOptions{})
			} else if err == nil {
				_, err = again.Apply(&ApplyOptions{})
			}
			var damaged *DamagedError
			if !errors.As(err, &damaged) || (listed != nil) != (file == headerFile) {
				t.Errorf("a %s as %s: %v, %v", what, file, err, listed)
			}
			must.Do(t, w.store.Remove(set.ID))
		}
		w := newWorld(t, files{"x": "x\n"}, files{"x": "X\n"})
		twin := strings.Repeat("0", 64)
		must.Do(t, put(filepath.Join(w.store.dir.Path(), twin)))
		must.Do(t, put(filepath.Join(w.store.dir.Path(), draftPrefix+"odd")))
		set := w.capture()
		if _, err := w.store.Find(twin); err == nil {
			t.Errorf("a %s is a set", what)
		}
		must.Do(t, w.store.Remove(twin))
		if left, err := w.store.dir.Names(func(string) bool { return true }); err != nil || len(left) != 1 || left[0] != set.ID {
			t.Errorf("a %s: the store has %q, %v", what, left, err)
		}
	}
}

// longest form in JSON.
func TestLongestLine(t *testing.T) {
	w := newWorld(t, files{}, files{"x": "X\n"})
	long := func(n int) Name { return Name(strings.Repeat("\x01", n)) }
	state := &State{Kind: Symlink, Mode: 0o777, Target: long(pathMax - 1)}
	for len(state.XAttrs) < 256 { // 64 KiB of names (XATTR_LIST_MAX), 192 KiB of values
		state.XAttrs = append(state.XAttrs, XAttr{long(nameMax - len("user.")), make([]byte, 768)})
	}
	path := Name(strings.TrimSuffix(strings.Repeat(string(long(nameMax))+"/", 15), "/"))
	c := &comparer{ctx: t.Context(), room: must.Get(w.store.room())(t), kept: map[string]bool{},
		files: []*File{{Path: path, Old: state, New: state}}}
	upper, err := os.Open(w.upper)
	must.Do(t, err)
	defer upper.Close()
	set, err := w.store.write(&Header{Version: version}, c, upper)
	must.Do(t, err)
	list, err := set.Files()
	if err != nil || len(list) != 1 || list[0].Path != path || !list[0].New.equal(state) {
		t.Errorf("%d changes, %v", len(list), err)
	}
}

// Sets that are too old are removed without a new set, also the newest one. A set in use or half applied stays.
func TestExpireOfTheOld(t *testing.T) {
	w := newWorld(t, files{"x": "x\n"}, files{"x": "X\n"})
	w.run.Ended = time.Now().Add(-time.Hour)
	old := w.capture()
	if removed, err := w.store.Expire(); err != nil || len(removed) != 0 {
		t.Errorf("%q, %v", removed, err)
	}
	w.store.Limits.Age = time.Minute
	if removed, err := w.store.Expire(); err != nil || len(removed) != 1 || removed[0] != old.ID {
		t.Errorf("%q, %v", removed, err)
	}
}
