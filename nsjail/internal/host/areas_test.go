package host

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/internal/walk"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// areasAt returns areas at paths of a host, and the identities of its files.
func areasAt(ids map[string]uint64, paths ...string) *areas {
	l := &areas{ids: map[string]walk.ID{"/": {Dev: 1, Ino: 1}}}
	for name, ino := range ids {
		l.ids[name] = walk.ID{Dev: 1, Ino: ino}
	}
	for i, name := range paths {
		l.list = append(l.list, area{mount: i, target: "/m" + string(rune('0'+i)), path: name, id: l.ids[name]})
	}
	return l
}

// TestAreasWith: a path is found in every area that shows it, by the path's text or, where a directory is mounted twice,
// by the directory's identity.
func TestAreasWith(t *testing.T) {
	ids := map[string]uint64{"/a": 2, "/a/b": 3, "/a/b/c": 4, "/ab": 5, "/x": 6, "/x/again": 3, "/x/again/c": 4, "/x/again/c/d": 7, "/gone": 0, "/a/b/c/d": 7}
	for _, c := range []struct {
		areas []string
		full  string
		want  []string // target of the mount, and the path in it
	}{
		{[]string{"/a"}, "/a/b", []string{"/m0 b"}},
		{[]string{"/a"}, "/a", []string{"/m0 "}},
		{[]string{"/a"}, "/ab", nil}, // not below it, although its name begins so
		{[]string{"/a"}, "/", nil},
		{[]string{"/"}, "/a/b", []string{"/m0 a/b"}},
		{[]string{"/a/b"}, "/a", nil},
		{[]string{"/a/b"}, "/x/again/c/d", []string{"/m0 c/d"}}, // the same directory at another place
		{[]string{"/a/b"}, "/x/again", nil},                     // a single area has one name for itself
		{[]string{"/a", "/a/b"}, "/a/b/c", []string{"/m0 b/c", "/m1 c"}},
		{[]string{"/x", "/a/b"}, "/a/b/c", []string{"/m1 c"}},
		{[]string{"/x", "/a/b"}, "/x/again", []string{"/m0 again", "/m1 "}},
		{[]string{"/x", "/a/b"}, "/x/again/c/d", []string{"/m0 again/c/d", "/m1 c/d"}},
		{nil, "/a/b", nil},
	} {
		l := areasAt(ids, c.areas...)
		var got []string
		for a, rel := range l.with(c.full) {
			got = append(got, a.target+" "+rel)
		}
		if !slices.Equal(got, c.want) || l.show(c.full) != (len(c.want) > 0) {
			t.Errorf("%s in %q: %q, %v; want %q", c.full, c.areas, got, l.show(c.full), c.want)
		}
	}
}

// TestAreaIn: an area is in each directory above it, and in a directory that is mounted where one above it is.
func TestAreaIn(t *testing.T) {
	l := areasAt(map[string]uint64{"/a": 2, "/a/b": 3, "/a/b/c": 4, "/x": 6}, "/a/b")
	for full, c := range map[string]struct {
		ino  uint64
		want bool
	}{"/a": {2, true}, "/a/b": {3, true}, "/a/b/c": {4, false}, "/x": {6, false}, "/x/again": {2, true}, "/x/b": {3, true}} {
		if got := l.in(&l.list[0], full, walk.ID{Dev: 1, Ino: c.ino}); got != c.want {
			t.Errorf("%s: %v", full, got)
		}
	}
}

// What was looked at once is not looked at again, and a name that does not exist has no identity.
func TestAreaIDs(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, errors.Join(os.Mkdir(dir+"/d", 0o755), os.Symlink("d", dir+"/l")))
	l := &areas{ids: map[string]walk.ID{}}
	d := l.id(dir + "/d")
	if d == (walk.ID{}) || l.id(dir+"/gone") != (walk.ID{}) || l.id(dir+"/l") == d {
		t.Errorf("%+v", l.ids)
	}
	must.Do(t, os.Remove(dir+"/d"))
	if l.id(dir+"/d") != d {
		t.Error("the directory was looked at twice")
	}
	var st unix.Stat_t
	must.Do(t, unix.Lstat(dir, &st))
	if l.note(dir+"/new", &st); l.ids[dir+"/new"] != (walk.ID{}) {
		t.Error("without two areas nobody asks for identities")
	}
	l.list = make([]area, 2)
	if l.note(dir+"/new", &st); l.ids[dir+"/new"] != walk.IDOf(&st) {
		t.Errorf("%+v", l.ids)
	}
	if l.note(dir+"/new", nil); l.ids[dir+"/new"] != walk.IDOf(&st) {
		t.Error("what is known has changed")
	}
}

// TestNewAreas: the areas are the mounts that change files of the host, or a copy of them, by the path without links.
func TestNewAreas(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	must.Do(t, errors.Join(os.Mkdir(dir+"/d", 0o755), os.Symlink("d", dir+"/l")))
	held := bind(dir+"/l", "/held", true)
	held.Held = &spec.Held{Internal: true}
	mounts := []spec.Mount{bind(dir+"/l", "/ro", false), bind(dir+"/l", "/rw", true), {Type: spec.MountCOW, Source: dir + "/d", Target: "/cow"},
		{Type: spec.MountVolume, Target: "/v", Writable: true}, {Type: spec.MountTmpfs, Target: "/t"}, held}
	l := looks(t, &spec.Spec{})
	for _, i := range []int{0, 1, 2, 5} {
		must.Get(l.open(SourceOf(i), mounts[i].Source))(t)
	}
	got := must.Get(newAreas(mounts, &l.Sources))(t)
	want := []area{{mount: 1, target: "/rw"}, {mount: 2, target: "/cow", cow: true}, {mount: 5, target: "/held", internal: true}}
	for i := range want {
		src := l.Sources.Of(want[i].mount)
		want[i].path, want[i].id, want[i].fd = dir+"/d", walk.ID{Dev: src.Dev, Ino: src.Ino}, src.Fd
	}
	if !slices.Equal(got.list, want) {
		t.Errorf("%+v\nwant %+v", got.list, want)
	}
	l.Sources.Put(SourceOf(1), &Source{Fd: -1})
	if _, err := newAreas(mounts, &l.Sources); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a source that is not open: %v", err)
	}
}

// TestMakes: in which directories the payload could make a file. Only what this user may never write to is safe.
func TestMakes(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Mkdir(dir+"/shut", 0o500))
	uid := os.Geteuid()
	m := makes{uid, map[string]bool{}}
	for name, want := range map[string]bool{dir: true, dir + "/shut": true, dir + "/nowhere": true, "/": uid == 0} {
		if m.in(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	must.Do(t, os.Chmod(dir, 0)) // an answer is kept
	defer os.Chmod(dir, 0o700)
	if !m.in(dir) || !m.in(dir+"/shut") || len(m.known) != 4 {
		t.Errorf("%+v", m.known)
	}
}

// TestHeldCovers: what is below a protected path is protected as well, and nothing beside it.
func TestHeldCovers(t *testing.T) {
	h := held{"/a/b": "/work/b", "/free": ""}
	for full, want := range map[string]bool{"/a/b": true, "/a/b/c/d": true, "/a": false, "/a/bc": false, "/free": false, "/free/x": false, "/": false} {
		if h.covers(full) != want {
			t.Errorf("%s: %v", full, !want)
		}
	}
}

// TestWhole: parts of a git directory are told from the directory itself, and from the other files of a work tree.
func TestWhole(t *testing.T) {
	w := whole{{Path: "/r/.git"}, {Path: "/r/.git/modules/s"}, {Path: "/bare"}}
	for full, want := range map[string][2]bool{"/r/.git": {true, false}, "/r/.git/hooks": {false, true}, "/r/.git/hooks/x": {false, true}, "/r": {false, false},
		"/r/.gitignore": {false, false}, "/r/.git/modules/s": {true, false}, "/r/.git/modules/s/config": {false, true}, "/bare/config": {false, true}, "/": {false, false}} {
		if got := [2]bool{w.has(full), w.part(full)}; got != want {
			t.Errorf("%s: %v, want %v", full, got, want)
		}
	}
	if none := (whole)(nil); none.has("/r/.git") || none.part("/r/.git/hooks") {
		t.Error("no directory is protected as a whole")
	}
}
