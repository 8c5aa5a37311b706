package changes

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// errFull is what each step of an Apply returns from one on, as on a disk that is full for ever.
var errFull = fmt.Errorf("full: %w", unix.ENOSPC)

// full returns options with which every step from the nth on fails, and whether there was such a step.
func full(n int, o ApplyOptions) (*ApplyOptions, *bool) {
	met := new(bool)
	o.step = func(step string) error {
		if n--; n > 0 {
			return nil
		}
		*met = true
		return errFull
	}
	return &o, met
}

// Each kind of change once.
var (
	kinds   = files{"a": "a\n", "gone/d/x": "x\n", "to-dir": "f\n", "to-file/x": "x\n", "mode/": "0755", "l": "->a"}
	kindsUp = files{"a": "A\n", "gone": "!", "to-dir/d/f": "f\n", "to-dir/": "0700", "to-file": "f\n", "mode/": "0500", "l": "->b", "n": "n\n"}
	kindsOK = files{"a": "0644:A\n", "to-dir/": "0700", "to-dir/d/": "0755", "to-dir/d/f": "0644:f\n", "to-file": "0644:f\n", "mode/": "0500", "l": "->b", "n": "0644:n\n"}
)

// Whatever an Apply cannot write, once or for ever, it leaves the directory as it was, and can be repeated wholly or for
// some paths.
func TestApplyOnAFullDisk(t *testing.T) {
	for n, met := 1, true; met; n++ {
		w := newWorld(t, kinds, kindsUp)
		before := snapshot(t, w.base)
		set := w.capture()
		for _, dry := range []bool{true, false} {
			o, m := full(n, ApplyOptions{DryRun: dry})
			_, err := set.Apply(o)
			if met = *m && err != nil; met && !errors.Is(err, unix.ENOSPC) || set.Interrupted {
				t.Fatalf("step %d: %v", n, err)
			}
			if met || dry {
				equal(t, snapshot(t, w.base), before)
			}
		}
		if !met {
			break
		}
		must.Get(set.Apply(&ApplyOptions{Paths: []string{"a"}}))(t)
		done := must.Get(set.Apply(&ApplyOptions{}))(t)
		if !done.Removed || done.Resumed {
			t.Errorf("step %d: %+v", n, done)
		}
		equal(t, snapshot(t, w.base), kindsOK)
		if t.Failed() {
			t.Fatal("step", n)
		}
	}
}

// An Apply that is killed at any step can be undone, as long as it has not made all changes, or taken by path.
func TestUndo(t *testing.T) {
	for n, more := 2, true; more; n++ {
		w := newWorld(t, kinds, kindsUp)
		before := snapshot(t, w.base)
		set := w.capture()
		more = w.crashAt(n, set.ID)
		set, err := w.store.Find(set.ID)
		if err != nil {
			break
		}
		interrupted := set.Interrupted
		switch done, err := set.Undo(); {
		case !interrupted && err == nil, interrupted && err == nil && (!done.Resumed || set.Interrupted):
			t.Errorf("step %d: %+v, %v", n, done, err)
		case err == nil:
			equal(t, snapshot(t, w.base), before)
		case interrupted && !strings.Contains(err.Error(), "all of its changes were made"):
			t.Errorf("step %d: %v", n, err)
		}
		if t.Failed() {
			t.Fatal("step", n)
		}
	}
	for n, more := 2, true; more; n += 9 {
		w := newWorld(t, kinds, kindsUp)
		set := w.capture()
		more = w.crashAt(n, set.ID)
		if set, err := w.store.Find(set.ID); err == nil {
			must.Get(set.Apply(&ApplyOptions{Paths: []string{"n"}}))(t)
			if got := snapshot(t, w.base); got["n"] != "0644:n\n" || got["a"] != kindsOK["a"] && len(got) != 10 {
				t.Fatalf("step %d: %q", n, got)
			}
		}
	}
}

// What the host has written to what was half applied stays when that is undone.
func TestUndoKeepsWhatTheHostWrote(t *testing.T) {
	for n, more := 2, true; more; n++ {
		w := newWorld(t, files{"x": "x\n", "y": "y\n"}, files{"x": "run\n", "y": "!", "d/e/f": "f\n", "d/g": "g\n"})
		set := w.capture()
		more = w.crashAt(n, set.ID)
		set, err := w.store.Find(set.ID)
		if err != nil {
			break
		}
		edited := os.WriteFile(w.base+"/d/e/f", []byte("host\n"), 0o644) == nil
		must.Do(t, os.WriteFile(w.base+"/x", []byte("host\n"), 0o644))
		must.Do(t, os.WriteFile(w.base+"/y", []byte("host\n"), 0o644))
		_, err = set.Undo()
		got := snapshot(t, w.base)
		want := files{"x": "0644:host\n", "y": "0644:host\n"}
		if edited {
			want["d/"], want["d/e/"], want["d/e/f"] = "0755", "0755", "0644:host\n"
		}
		if err != nil { // it was done: it is finished
			must.Get(set.Resume())(t)
			got, want["d/g"] = snapshot(t, w.base), "0644:g\n"
		}
		equal(t, got, want)
		if t.Failed() {
			t.Fatal("step", n)
		}
	}
}

// Attributes that the file system cannot hold end an Apply before it has changed anything; Force leaves them out.
func TestApplyOfAttributesWithoutRoom(t *testing.T) {
	t.Setenv("TMPDIR", disk)
	w := newWorld(t, files{"f1": "1\n", "f2": "2\n"}, files{})
	dir := must.Get(os.MkdirTemp("/dev/shm", "brig-test-"))(t)
	must.Do(t, os.Chmod(dir, 0o755))
	defer os.RemoveAll(dir)
	w.upper = files{"f1": "!", "f2": "!", "z1": "1\n", "z2": "2\n", "a": "x\n"}.make(t, dir)
	if err := unix.Setxattr(w.upper+"/a", "user.big", make([]byte, 60000), 0); err != nil {
		t.Skip("/dev/shm holds no 60 KB of attributes (Linux 6.6): ", err)
	}
	before := snapshot(t, w.base)
	set := w.capture()
	for _, dry := range []bool{true, false} {
		if _, err := set.Apply(&ApplyOptions{DryRun: dry}); err == nil {
			t.Skip("the file system of the temporary directory holds 60 KB of attributes")
		} else if !strings.Contains(err.Error(), "user.big") || set.Interrupted {
			t.Error(err)
		}
		equal(t, snapshot(t, w.base), before)
	}
	done := must.Get(set.Apply(&ApplyOptions{Force: true}))(t)
	equal(t, snapshot(t, w.base), files{"a": "0644:x\n", "z1": "0644:1\n", "z2": "0644:2\n"})
	if !done.Removed || len(done.Left) != 1 || done.Left[0].Path != "a" {
		t.Errorf("%+v", done)
	}
}
