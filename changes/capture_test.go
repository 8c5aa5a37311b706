package changes

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/layer"

	"golang.org/x/sys/unix"
)

// base is the directory of most tests.
var base = files{
	"a.txt":         "one\ntwo\nthree\n",
	"same.txt":      "same\n",
	"run.sh":        "0755:#!/bin/sh\n",
	"gone.txt":      "gone\n",
	"link":          "->a.txt",
	"dir/x":         "x\n",
	"dir/y":         "y\n",
	"old/deep/z":    "z\n",
	"old/w":         "w\n",
	"file-to-dir":   "f\n",
	"dir-to-file/q": "q\n",
	"opq/1":         "1\n",
	"opq/2":         "2\n",
	"mode/":         "0755",
}

// upper is what a run leaves there.
var upper = files{
	"a.txt":         "one\n2\nthree\nfour\n",
	"same.txt":      "same\n",
	"run.sh":        "0644:#!/bin/sh\n",
	"gone.txt":      "!",
	"link":          "->run.sh",
	"dir/x":         "!",
	"dir/new/n":     "n\n",
	"old":           "!",
	"moved/deep/z":  "z\n",
	"moved/w":       "w\n",
	"file-to-dir/":  "opaque",
	"file-to-dir/g": "g\n",
	"dir-to-file":   "d\n",
	"opq/":          "opaque",
	"opq/2":         "2\n",
	"opq/3":         "3\n",
	"mode/":         "0700",
	"bin":           "\x00\x01",
	"dir/y":         "y\n",
}

// after is the directory with the changes.
var after = files{
	"a.txt": "0644:one\n2\nthree\nfour\n", "same.txt": "0644:same\n", "run.sh": "0644:#!/bin/sh\n", "link": "->run.sh",
	"dir/": "0755", "dir/new/": "0755", "dir/new/n": "0644:n\n", "dir/y": "0644:y\n",
	"moved/": "0755", "moved/deep/": "0755", "moved/deep/z": "0644:z\n", "moved/w": "0644:w\n",
	"file-to-dir/": "0755", "file-to-dir/g": "0644:g\n", "dir-to-file": "0644:d\n",
	"opq/": "0755", "opq/2": "0644:2\n", "opq/3": "0644:3\n", "mode/": "0700", "bin": "0644:\x00\x01",
}

func TestCapture(t *testing.T) {
	w := newWorld(t, base, upper)
	set := w.capture()
	want := strings.Split(`changed a.txt +2 -1
added bin +0 -0
deleted dir/x +0 -1
added dir/new +0 -0
added dir/new/n +1 -0
changed dir-to-file +1 -0
deleted dir-to-file/q +0 -1
changed file-to-dir +0 -1
added file-to-dir/g +1 -0
deleted gone.txt +0 -1
changed link +0 -0
changed mode +0 -0
added moved +0 -0
added moved/deep +0 -0
added moved/deep/z +1 -0
added moved/w +1 -0
deleted old +0 -0
deleted old/deep +0 -0
deleted old/deep/z +0 -1
deleted old/w +0 -1
deleted opq/1 +0 -1
added opq/3 +1 -0
changed run.sh +0 -0`, "\n")
	got := summary(t, set)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
	if set.Counts != (Counts{Files: 14, Added: 6, Removed: 6, Bytes: 41, Dirs: 7}) {
		t.Errorf("%+v", set.Counts)
	}
	equal(t, snapshot(t, w.base), snapshot(t, base.make(t, t.TempDir())))
	if left, err := w.store.dir.Names(func(string) bool { return true }); err != nil || !slices.Equal(left, []string{set.ID}) {
		t.Errorf("the store has %q, %v", left, err)
	}
}

// The layer alone is what any tool for OCI images needs to make the same tree.
func TestLayerIsOCI(t *testing.T) {
	w := newWorld(t, base, upper)
	set := w.capture()
	tar := must.Get(os.Open(filepath.Join(w.store.dir.Path(), set.ID, layerFile)))(t)
	defer tar.Close()
	dir := must.Get(os.Open(base.make(t, t.TempDir())))(t)
	defer dir.Close()
	must.Get(layer.Unpack(tar, dir, nil))(t)
	equal(t, snapshot(t, dir.Name()), after)
}

// A file that is copied up and not changed is no change, and without changes no set is kept.
func TestCaptureOfNothing(t *testing.T) {
	w := newWorld(t, base, files{"a.txt": base["a.txt"], "link": "->a.txt", "dir/x": base["dir/x"], "mode/": "0755", "run.sh": base["run.sh"]})
	if set := w.capture(); set != nil {
		t.Errorf("%q", summary(t, set))
	}
	if left, err := w.store.dir.Names(func(string) bool { return true }); err != nil || len(left) > 0 {
		t.Errorf("the store has %q, %v", left, err)
	}
}

// Files whose modes forbid everything are read, and keep their modes.
func TestCaptureWithoutPermission(t *testing.T) {
	w := newWorld(t, files{}, files{"d/secret": "0000:s\n", "d/": "0000"})
	defer os.Chmod(filepath.Join(w.upper, "d"), 0o700)
	set := w.capture()
	list := must.Get(set.Files())(t)
	if len(list) != 2 || list[0].New.Mode != 0 || list[1].New.Mode != 0 || list[1].New.lines+list[1].Added != 1 {
		t.Errorf("%q", summary(t, set))
	}
	if st, err := os.Lstat(filepath.Join(w.upper, "d")); err != nil || st.Mode().Perm() != 0 {
		t.Error(st.Mode(), err)
	}
}

// Files that a set cannot hold are left out and listed.
func TestCaptureLeavesOut(t *testing.T) {
	w := newWorld(t, files{}, files{"a": "a\n", ".wh.x": "x\n"})
	must.Do(t, unix.Mkfifo(filepath.Join(w.upper, "fifo"), 0o644))
	deep := w.upper
	for range maxDepth + 3 {
		deep += "/d"
	}
	must.Do(t, os.MkdirAll(deep, 0o755))
	must.Do(t, os.WriteFile(filepath.Join(w.upper, "sparse"), nil, 0o600))
	must.Do(t, os.Truncate(filepath.Join(w.upper, "sparse"), 4<<30))
	set := w.capture()
	if len(set.LeftOut) != 4 || set.LeftOut[0].Path != ".wh.x" || set.LeftOut[2].Path != "fifo" || set.LeftOut[3].Path != "sparse" {
		t.Errorf("%+v", set.LeftOut)
	}
	must.Do(t, os.WriteFile(filepath.Join(w.upper, "a"), []byte("b\n"), 0o600))
	must.Do(t, unix.Chmod(filepath.Join(w.upper, "a"), 0o4755))
	set = w.capture()
	if list, err := set.Files(); err != nil || list[0].New.Mode != 0o755 {
		t.Errorf("a set-user-ID bit is kept: %v", err)
	}
}
