package cache

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// TestUse: what one run has left is there for the next one with the same key, and the last of several runs counts it.
func TestUse(t *testing.T) {
	s := testStore(t)
	tool, key := must.Get(Find("npm"))(t), Key{Root: HostRoot}
	one := must.Get(s.Use(tool, key, 1<<20))(t)
	two := must.Get(s.Use(tool, key, 1<<20))(t)
	must.Do(t, os.WriteFile(one.dataPath()+"/x", make([]byte, 4096), 0o600))
	if gone, busy, err := Collect(0); len(gone) > 0 || busy != 1 || err != nil {
		t.Errorf("%q, %d in use, %v", gone, busy, err)
	}
	if r := must.Get(one.Release())(t); !r.Shared {
		t.Errorf("%+v", r)
	}
	if r := must.Get(two.Release())(t); r.Shared || r.Bytes != 4096 || r.Files != 1 {
		t.Errorf("%+v", r)
	}
	m := must.Get(s.Use(tool, key, 1<<20))(t)
	if mount := m.Mount(); mount.Held.Used != 4096 || mount.Held.Most != 2<<20 || !mount.Writable {
		t.Errorf("%+v", mount.Held)
	}
	other := must.Get(s.Use(tool, Key{Root: HostRoot, Label: "x"}, 1<<20))(t)
	if other.Path == m.Path {
		t.Error("two keys have one cache")
	}
	must.Do(t, other.close()) // killed: there is no about.json
	must.Get(m.Release())(t)
	if gone, _, err := Collect(time.Hour); len(gone) > 0 || err != nil {
		t.Errorf("%q, %v", gone, err)
	}
	if gone, busy, err := Collect(0); len(gone) != 2 || busy != 0 || err != nil {
		t.Errorf("%q, %d, %v", gone, busy, err)
	}
}

// TestAfterAKill: the next run of a brig that was killed counts the cache, and removes what exceeds it.
func TestAfterAKill(t *testing.T) {
	s := testStore(t)
	tool := must.Get(Find("npm"))(t)
	c := must.Get(s.Use(tool, Key{}, 64<<10))(t)
	must.Do(t, os.WriteFile(c.dataPath()+"/x", make([]byte, 128<<10), 0o600))
	must.Do(t, os.Mkdir(filepath.Join(c.Path, trashDir), 0o700))
	must.Do(t, os.WriteFile(filepath.Join(c.Path, trashDir, "1"), make([]byte, 128<<10), 0o600))
	must.Do(t, c.close())
	c = must.Get(s.Use(tool, Key{}, 64<<10))(t)
	if names := must.Get(os.ReadDir(c.Path))(t); c.used != 0 || len(names) != 1 {
		t.Errorf("%d bytes, %v", c.used, names)
	}
	must.Get(c.Release())(t)
}

// TestLook: it changes nothing, and tells of the same mount.
func TestLook(t *testing.T) {
	s := testStore(t)
	tool := must.Get(Find("npm"))(t)
	before := must.Get(Look(tool, Key{}, 1<<20))(t)
	if names := must.Get(os.ReadDir(s.dir.Path()))(t); len(names) > 0 {
		t.Errorf("Look has made %v", names)
	}
	c := must.Get(s.Use(tool, Key{}, 1<<20))(t)
	if got := c.Mount().Source; got != before.Source {
		t.Errorf("%q, and %q", got, before.Source)
	}
	must.Get(c.Release())(t)
}

// TestStoreOfOthers: neither the store nor a cache may be another user's, or a link.
func TestStoreOfOthers(t *testing.T) {
	s := testStore(t)
	tool := must.Get(Find("npm"))(t)
	c := must.Get(s.Use(tool, Key{}, 1<<20))(t)
	must.Get(c.Release())(t)
	must.Do(t, os.Chmod(c.Path, 0o770))
	if _, err := s.Use(tool, Key{}, 1<<20); err == nil || !strings.Contains(err.Error(), "must be yours") {
		t.Error(err)
	}
	must.Do(t, os.Rename(c.Path, c.Path+".old"))
	must.Do(t, os.Symlink(t.TempDir(), c.Path))
	if _, err := s.Use(tool, Key{}, 1<<20); err == nil {
		t.Error("a link is followed")
	}
	must.Do(t, os.Chmod(s.dir.Path(), 0o777))
	if _, err := Open(); err == nil {
		t.Error("a store that everybody may write to is opened")
	}
	must.Do(t, os.Chmod(s.dir.Path(), 0o700))
	if _, err := s.Use(tool, Key{Label: "a\x1b[0m"}, 1<<20); err == nil {
		t.Error("a key with control characters")
	}
	if err := unix.Unlink(c.Path); err != nil {
		t.Error(err)
	}
}

// TestSmallerSize: a cache that is larger than it may be now is made smaller first, for its jail would be ended.
func TestSmallerSize(t *testing.T) {
	s := testStore(t)
	tool := must.Get(Find("npm"))(t)
	c := must.Get(s.Use(tool, Key{}, 1<<20))(t)
	must.Do(t, os.WriteFile(c.dataPath()+"/x", make([]byte, 128<<10), 0o600))
	must.Get(c.Release())(t)
	c = must.Get(s.Use(tool, Key{}, 64<<10))(t)
	if m := c.Mount(); m.Held.Used != 0 || m.Held.Most != 128<<10 {
		t.Errorf("%+v", m.Held)
	}
	must.Get(c.Release())(t)
}
