package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/sys"
	"brig/internal/test/must"
	"brig/nsjail/internal/walk"
	"brig/nsjail/spec"
)

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		file, dir, rel string
		ok             bool
	}{
		{"/a/b", "/a", "b", true}, {"/a", "/a", "", true}, {"/a/b", "/", "a/b", true}, {"/", "/", "", true},
		{"/ab", "/a", "", false}, {"/a", "/a/b", "", false}, {"/a/b", "/a/", "b", true}, {"/a\nb/c", "/a\nb", "c", true},
	} {
		if rel, ok := within(c.file, c.dir); ok != c.ok || ok && rel != c.rel {
			t.Errorf("%q in %q: %q, %v", c.file, c.dir, rel, ok)
		}
	}
}

// TestShownNames: a mount of the host shows a protected file if the file is below the mount's root, and a part of a
// protected directory if its root is in that directory.
func TestShownNames(t *testing.T) {
	at := place{"8:1", "/home/u/r/.git"}
	for name, c := range map[string]struct {
		mount       shown
		other, same string
		ok          bool
	}{
		"above it":            {shown{place{"8:1", "/home/u"}, "/w/again", ""}, "/w/again/r/.git", "/p/.git", true},
		"the whole device":    {shown{place{"8:1", "/"}, "/w/disk", ""}, "/w/disk/home/u/r/.git", "/p/.git", true},
		"itself":              {shown{place{"8:1", "/home/u/r/.git"}, "/w/g", ""}, "/w/g", "/p/.git", true},
		"in it":               {shown{place{"8:1", "/home/u/r/.git/hooks"}, "/w/h", ""}, "/w/h", "/p/.git/hooks", true},
		"beside it":           {shown{place{"8:1", "/home/u/r/src"}, "/w/s", ""}, "", "", false},
		"a name like its own": {shown{place{"8:1", "/home/u/r/.gitx"}, "/w/s", ""}, "", "", false},
		"another device":      {shown{place{"8:2", "/home/u"}, "/w/again", ""}, "", "", false},
	} {
		other, same, ok := c.mount.names("/p/.git", at)
		if ok != c.ok || ok && (other != c.other || same != c.same) {
			t.Errorf("%s: %q, %q, %v", name, other, same, ok)
		}
	}
}

// TestPlaces: a path is in the mount that statx(2) names, at its root's path; the text of the table has escapes.
func TestPlaces(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	must.Do(t, os.WriteFile(dir+"/there", nil, 0o600))
	table := places(ParseMounts(must.Get(sys.Mounts())(t), " - "))
	there, ok, err := table.of(dir + "/there")
	gone, still, gerr := table.of(dir + "/gone")
	if err != nil || gerr != nil || !ok || still || gone.dev != there.dev || filepath.Dir(gone.path) != filepath.Dir(there.path) {
		t.Errorf("%+v %v %v, %+v %v %v", there, ok, err, gone, still, gerr) // the Ghost of another run may go between two looks
	}
	if _, _, err := table.of(dir + "/gone/further"); err == nil || err.Error() != "cannot be looked at: statx: no such file or directory" {
		t.Error(err)
	}
	if _, _, err := places(nil).of(dir); err == nil || err.Error() != "is in no mount that /proc/self/mountinfo lists, so that its other names are unknown" {
		t.Error(err)
	}
	for i := range table { // the same mount, as if a part of its device were mounted at a name with a space
		table[i].Point, table[i].root = dir, `/a\040b`
	}
	if at, _, err := table.of(dir + "/there"); err != nil || at.path != "/a b/there" {
		t.Errorf("%+v, %v", at, err)
	}
}

// TestOtherMounts: what the host has mounted twice below a writable bind is refused if it shows a protected file where
// that can be changed.
func TestOtherMounts(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	must.Do(t, os.MkdirAll(dir+"/r/.git/hooks", 0o755))
	table := places(ParseMounts(must.Get(sys.Mounts())(t), " - "))
	here := must.Get(func() (place, error) { at, _, err := table.of(dir); return at, err }())(t)
	for name, c := range map[string]struct {
		root, point string // of the second mount, relative to dir
		options     string
		dev         string
		same        string // as what the second mount's name is seen: relative to dir
		absent      bool
		cow         bool
		refused     string
	}{
		"the work tree again":        {"r", "again", "rw", here.dev, "again/.git=r/.git", false, false, `shows "$/r/.git" writable as "$/again/.git", by a mount of the host`},
		"a part of it again":         {"r/.git/hooks", "again", "rw", here.dev, "again=r/.git/hooks", false, false, `shows "$/r/.git/hooks" writable as "$/again", by a mount of the host`},
		"absent, in the same tree":   {"r", "again", "rw", here.dev, "again=r", true, false, `shows "$/r/.git" writable as "$/again/.git", by a mount of the host`},
		"read-only":                  {"r", "again", "ro", here.dev, "again/.git=r/.git", false, false, ""},
		"covered by another mount":   {"r", "again", "rw", here.dev, "", false, false, ""},
		"another device":             {"r", "again", "rw", "999:1", "again/.git=r/.git", false, false, ""},
		"beside the bind":            {"r", "../beside", "rw", here.dev, "../beside/.git=r/.git", false, false, ""},
		"another directory":          {"src", "again", "rw", here.dev, "again/.git=r/.git", false, false, ""},
		"a protected place again":    {"r/.git", "r/.git/again", "rw", here.dev, "r/.git/again=r/.git", false, false, ""},
		"the payload has its copies": {"r", "again", "rw", here.dev, "again/.git=r/.git", false, true, ""},
	} {
		line := fmt.Sprintf("9999 1 %s %s %s %s - ext4 /dev/x rw", c.dev, filepath.Join(here.path, c.root), filepath.Join(dir, c.point), c.options)
		m := bind(dir, "/w", true)
		if c.cow {
			m = spec.Mount{Type: spec.MountCOW, Source: dir, Target: "/w"}
		}
		h := &looker{Host: &Host{}, table: append(must.Get(sys.Mounts())(t), line...)}
		h.Protected = []Protected{{Target: "/w/r/.git", Path: dir + "/r/.git", Absent: c.absent}}
		p := &protector{h: h, s: &spec.Spec{Mounts: []spec.Mount{m}}, held: held{dir + "/r/.git": "/w/r/.git"},
			areas: &areas{list: []area{{target: "/w", path: dir, cow: c.cow}}, ids: map[string]walk.ID{}}}
		if name, as, ok := strings.Cut(c.same, "="); ok {
			p.areas.ids[filepath.Join(dir, name)] = p.areas.id(filepath.Join(dir, as))
		}
		p.otherMounts()
		want := at(dir, c.refused)
		if (p.err != nil) != (want != "") || p.err != nil && !strings.Contains(p.err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, p.err, want)
		}
		if e, ok := errors.AsType[*spec.Error](p.err); ok && e.Remedy.String() != `show it read-only, or take it back: protect: ["!/w/r/.git"]` {
			t.Errorf("%s: remedy %q", name, e.Remedy)
		}
	}
}
