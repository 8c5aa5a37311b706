package walk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// names returns the paths that Tree visits, in their order by name.
func names(t *testing.T, dir string, visit Visit) (list []string) {
	t.Helper()
	seen := must.Get(Tree(unix.AT_FDCWD, dir, func(e Entry) error {
		list = append(list, e.Path())
		if visit != nil {
			return visit(e)
		}
		return nil
	}))(t)
	if seen != len(list) {
		t.Errorf("%d seen of %q", seen, list)
	}
	slices.Sort(list)
	return list
}

// TestTree: links are seen and not followed, and what a visit skips is not looked into.
func TestTree(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, errors.Join(os.MkdirAll(dir+"/a/b", 0o755), os.WriteFile(dir+"/a/b/f", nil, 0o600), os.Symlink("a", dir+"/to"), os.Symlink(".", dir+"/a/self"),
		unix.Mkfifo(dir+"/pipe", 0o600), os.WriteFile(dir+"/x\ny", nil, 0o600), os.WriteFile(dir+"/..a", nil, 0o600)))
	if got := names(t, dir, nil); !slices.Equal(got, []string{"..a", "a", "a/b", "a/b/f", "a/self", "pipe", "to", "x\ny"}) {
		t.Errorf("%q", got)
	}
	kinds := map[string]uint32{}
	got := names(t, dir, func(e Entry) error {
		if kinds[e.Path()] = e.Kind; e.Path() == "a/b" {
			return fs.SkipDir
		}
		return nil
	})
	if slices.Contains(got, "a/b/f") || !slices.Contains(got, "a/self") {
		t.Errorf("a/b is skipped: %q", got)
	}
	for name, kind := range map[string]uint32{"a": unix.S_IFDIR, "to": unix.S_IFLNK, "pipe": unix.S_IFIFO, "..a": unix.S_IFREG} {
		if kinds[name] != kind {
			t.Errorf("%s: %o", name, kinds[name])
		}
	}
	why := errors.New("why")
	if seen, err := Tree(unix.AT_FDCWD, dir, func(Entry) error { return why }); err != why || seen != 1 {
		t.Errorf("an error ends the walk: %d, %v", seen, err)
	}
}

// A tree that is no directory, or cannot be read, has no entries: the payload cannot look there either.
func TestTreeOfNothing(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, errors.Join(os.WriteFile(dir+"/f", nil, 0o600), os.Symlink(".", dir+"/l"), os.MkdirAll(dir+"/shut/x", 0o755), os.Chmod(dir+"/shut", 0)))
	defer os.Chmod(dir+"/shut", 0o700)
	for _, name := range []string{"f", "l", "nowhere", "f/x", "shut"} {
		seen, err := Tree(unix.AT_FDCWD, filepath.Join(dir, name), func(Entry) error { return nil })
		if root := os.Geteuid() == 0 && name == "shut"; err != nil || (seen != 0) != root {
			t.Errorf("%s: %d, %v", name, seen, err)
		}
	}
	if _, err := Tree(unix.AT_FDCWD, strings.Repeat("n/", unix.PathMax), nil); err != unix.ENAMETOOLONG {
		t.Errorf("a path that is too long: %v", err)
	}
	if _, err := Tree(-1, ".", nil); err != unix.EBADF {
		t.Errorf("no descriptor: %v", err)
	}
}

// The walk ends after Max entries, wherever they are, and does not go deeper than it has buffers for.
func TestTreeBounds(t *testing.T) {
	wide := t.TempDir()
	must.Do(t, errors.Join(os.Mkdir(wide+"/a", 0o755), os.Mkdir(wide+"/b", 0o755), os.WriteFile(wide+"/f", nil, 0o600)))
	for i := range Max/2 + 1 { // a link is made faster than a file
		must.Do(t, errors.Join(os.Link(wide+"/f", fmt.Sprintf("%s/a/%d", wide, i)), os.Link(wide+"/f", fmt.Sprintf("%s/b/%d", wide, i))))
	}
	if seen, err := Tree(unix.AT_FDCWD, wide, func(Entry) error { return nil }); seen != Max || err != nil {
		t.Errorf("%d, %v", seen, err)
	}
	deep := t.TempDir()
	must.Do(t, os.MkdirAll(deep+strings.Repeat("/d", maxDepth+5), 0o755))
	if seen, err := Tree(unix.AT_FDCWD, deep, func(Entry) error { return nil }); seen != maxDepth || err != nil {
		t.Errorf("%d, %v", seen, err)
	}
}

// A directory that becomes a link while it is visited is not followed.
func TestTreeReplaced(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	must.Do(t, errors.Join(os.Mkdir(dir+"/d", 0o755), os.WriteFile(other+"/secret", nil, 0o600)))
	got := names(t, dir, func(e Entry) error {
		return errors.Join(os.Remove(dir+"/d"), os.Symlink(other, dir+"/d"))
	})
	if !slices.Equal(got, []string{"d"}) {
		t.Errorf("%q", got)
	}
}

// TestLinks: files with several names are found by any of them.
func TestLinks(t *testing.T) {
	dir, there := t.TempDir(), t.TempDir()
	must.Do(t, errors.Join(os.Mkdir(dir+"/in", 0o755), os.WriteFile(dir+"/in/two", nil, 0o600), os.WriteFile(dir+"/one", nil, 0o600), unix.Mkfifo(dir+"/pipe", 0o600),
		os.Symlink("one", dir+"/sym"), os.Link(dir+"/in/two", there+"/other"), os.Link(dir+"/pipe", there+"/pipe"), os.Link(dir+"/sym", there+"/sym"),
		os.WriteFile(there+"/alone", nil, 0o600)))
	byTree, byStat := Links{}, Links{}
	names(t, dir, func(e Entry) error {
		byTree.Visit(e, "/prefix")
		var st unix.Stat_t
		must.Do(t, unix.Lstat(filepath.Join(dir, e.Path()), &st))
		byStat.Add(&st, filepath.Join("/prefix", e.Path()))
		return nil
	})
	for how, links := range map[string]Links{"by Visit": byTree, "by Add": byStat} {
		if len(links) != 1 {
			t.Errorf("%s: %v", how, links)
		}
		names(t, there, func(e Entry) error {
			if name, ok := links.Same(e); ok != (e.Name() == "other") || ok && name != "/prefix/in/two" {
				t.Errorf("%s: %s is %q, %v", how, e.Name(), name, ok)
			}
			return nil
		})
	}
}

func TestIDOf(t *testing.T) {
	var st unix.Stat_t
	must.Do(t, unix.Lstat("/", &st))
	if IDOf(nil) != (ID{}) || IDOf(&st) == (ID{}) || IDOf(&st) != (ID{uint64(st.Dev), st.Ino}) {
		t.Errorf("%+v", IDOf(&st))
	}
}
