package changes

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
)

// Each file that is not what the run saw is named, and nothing is changed.
func TestConflicts(t *testing.T) {
	w := newWorld(t, base, upper)
	set := w.capture()
	must.Do(t, os.WriteFile(w.base+"/a.txt", []byte("host\n"), 0o644))
	must.Do(t, os.Chmod(w.base+"/run.sh", 0o700))
	must.Do(t, os.Remove(w.base+"/link"))
	files{"bin": "host\n", "old/host": "host\n", "file-to-dir": "host\n", "opq/3/": "", "dir-to-file/host": "host\n"}.make(t, w.base)
	before := snapshot(t, w.base)
	want := map[Name]string{"a.txt": "has changed", "run.sh": "has changed", "link": "is gone", "bin": "exists", "old/host": "has not seen it",
		"file-to-dir": "has changed", "opq/3": "is a directory now", "dir-to-file/host": "has not seen it"}
	for _, dry := range []bool{true, false} {
		_, err := set.Apply(&ApplyOptions{DryRun: dry})
		var refused *ConflictError
		if !errors.As(err, &refused) || len(refused.List) != len(want) {
			t.Fatalf("%v", err)
		}
		for _, c := range refused.List {
			if want[c.Path] == "" || !strings.Contains(c.Reason.String(), want[c.Path]) {
				t.Errorf("%s: %s", c.Path, c.Reason)
			}
		}
		equal(t, snapshot(t, w.base), before)
	}
	_, err := set.Apply(&ApplyOptions{Force: true})
	var refused *ConflictError
	if !errors.As(err, &refused) || len(refused.List) != 3 {
		t.Errorf("--force removes what the run has not seen: %v", err)
	}
	must.Do(t, errors.Join(os.Remove(w.base+"/old/host"), os.Remove(w.base+"/dir-to-file/host"), os.Remove(w.base+"/opq/3")))
	done, err := set.Apply(&ApplyOptions{Force: true})
	must.Do(t, err)
	equal(t, snapshot(t, w.base), after)
	if !done.Removed {
		t.Error("the set is still there")
	}
}

// A change that the directory has already is no conflict.
func TestApplyOfWhatIsThere(t *testing.T) {
	w := newWorld(t, base, upper)
	set := w.capture()
	must.Do(t, os.WriteFile(w.base+"/a.txt", []byte(upper["a.txt"]), 0o644))
	must.Do(t, os.Remove(w.base+"/gone.txt"))
	must.Do(t, os.RemoveAll(w.base+"/old"))
	files{"dir/new/": "0700", "moved/": ""}.make(t, w.base)
	done := must.Get(set.Apply(&ApplyOptions{}))(t)
	if !done.Removed || done.Done != 8 {
		t.Errorf("%+v", done)
	}
	want := files{}
	for name, text := range after {
		want[name] = text
	}
	want["dir/new/"] = "0700" // the host's own
	equal(t, snapshot(t, w.base), want)
}

// Some paths can be applied, with the directories that they need; the set stays until it is applied wholly.
func TestApplyOfSome(t *testing.T) {
	w := newWorld(t, base, upper)
	set := w.capture()
	for _, paths := range [][]string{{"nothing"}, {"/a.txt"}, {"../x"}, {""}} {
		if _, err := set.Apply(&ApplyOptions{Paths: paths}); err == nil && paths[0] != "" {
			t.Errorf("%q is applied", paths)
		}
		if paths[0] == "" {
			break
		}
	}
	w = newWorld(t, base, upper)
	set = w.capture()
	for _, paths := range [][]string{{"moved/deep/z"}, {"file-to-dir/g", "dir-to-file"}, {"./opq/", "old"}} {
		done := must.Get(set.Apply(&ApplyOptions{Paths: paths}))(t)
		if done.Removed || set.Interrupted {
			t.Errorf("%+v", done)
		}
	}
	got := snapshot(t, w.base)
	if got["moved/deep/z"] == "" || got["moved/w"] != "" || got["file-to-dir/g"] == "" || got["old/w"] != "" || got["a.txt"] != "0644:"+base["a.txt"] {
		t.Errorf("%q", got)
	}
	done := must.Get(set.Apply(&ApplyOptions{}))(t)
	if !done.Removed || len(done.Files) == 23 {
		t.Errorf("%+v", done)
	}
	equal(t, snapshot(t, w.base), after)
}

// A file that the host has changed while the payload ran may be either to it: only --force replaces it.
func TestRaced(t *testing.T) {
	w := newWorld(t, files{"x": "x\n", "y": "y\n"}, files{"x": "X\n", "y": "Y\n"})
	w.run.Started = time.Now().Add(-time.Hour) // both files are younger
	set := w.capture()
	var refused *ConflictError
	if _, err := set.Apply(&ApplyOptions{}); !errors.As(err, &refused) || len(refused.List) != 2 {
		t.Errorf("%v", err)
	}
	must.Get(set.Apply(&ApplyOptions{Force: true}))(t)
}

// The caller's own directory that forbids to write to it is opened for the change of its mode.
func TestApplyUnlocks(t *testing.T) {
	w := newWorld(t, files{"d/x": "x\n", "d/y": "y\n"}, files{"d/x": "X\n", "d/y": "!", "d/z": "z\n"})
	must.Do(t, os.Chmod(w.base+"/d", 0o500))
	must.Get(w.capture().Apply(&ApplyOptions{}))(t)
	equal(t, snapshot(t, w.base), files{"d/": "0755", "d/x": "0644:X\n", "d/z": "0644:z\n"})
}

// A directory without permission ends an Apply before anything is changed; the next one succeeds.
func TestApplyWithoutPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	w := newWorld(t, files{"a": "a\n", "d/x": "x\n", "z": "z\n"}, files{"a": "A\n", "d/x": "X\n", "z": "Z\n"})
	set := w.capture()
	must.Do(t, os.Chmod(w.base+"/d", 0o500))
	before := snapshot(t, w.base)
	for _, dry := range []bool{true, false} {
		if _, err := set.Apply(&ApplyOptions{DryRun: dry}); err == nil || !strings.Contains(err.Error(), "d/x") || set.Interrupted {
			t.Error(err)
		}
		equal(t, snapshot(t, w.base), before)
	}
	must.Do(t, os.Chmod(w.base+"/d", 0o700))
	if done, err := set.Apply(&ApplyOptions{}); err != nil || !done.Removed {
		t.Errorf("%+v, %v", done, err)
	}
}
