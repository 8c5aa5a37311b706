package cache

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// used returns a cache in use.
func used(t *testing.T, s *Store, tool string, kib int64) *Cache {
	t.Helper()
	c := must.Get(s.Use(must.Get(Find(tool))(t), Key{Root: HostRoot}, 1<<20))(t)
	c.size = kib << 10
	return c
}

// TestHostileFiles: a cache counts the space that each kind of file takes, and each file belongs to the cache's owner.
func TestHostileFiles(t *testing.T) {
	long := strings.Repeat("\x1b[2J\n\xff", 42)
	for _, tt := range []struct {
		what         string
		leave        func(dir string)
		bytes, files int64 // what is left, in KiB at most, and in files
	}{
		{"a sparse file is as large as its blocks", func(dir string) {
			must.Do(t, os.WriteFile(dir+"/f", nil, 0o600))
			must.Do(t, os.Truncate(dir+"/f", 1<<40))
		}, 0, 1},
		{"space that no size shows is counted", func(dir string) {
			f := must.Get(os.Create(dir + "/f"))(t)
			err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, 1<<20)
			must.Do(t, f.Close())
			if err != nil { // not of this file system
				must.Do(t, os.WriteFile(dir+"/f", make([]byte, 1<<20), 0o600))
			}
		}, 0, 0},
		{"a file of many names counts once", func(dir string) {
			must.Do(t, os.WriteFile(dir+"/f", make([]byte, 32<<10), 0o600))
			for i := range 9 {
				must.Do(t, os.Link(dir+"/f", fmt.Sprintf("%s/%d", dir, i)))
			}
		}, 32, 10},
		{"names of all bytes", func(dir string) {
			must.Do(t, os.Mkdir(dir+"/"+long, 0o700))
			must.Do(t, os.WriteFile(dir+"/"+long+"/"+long, make([]byte, 128<<10), 0o600))
		}, 4, 1},
		{"set-user-ID programs are their owner's alone to execute", func(dir string) {
			must.Do(t, os.WriteFile(dir+"/f", []byte("#!"), 0o755))
			must.Do(t, os.Chmod(dir+"/f", 0o6755|os.ModeSetuid|os.ModeSetgid))
		}, 4, 1},
		{"sockets and devices go", func(dir string) {
			fd := must.Get(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0))(t)
			defer unix.Close(fd)
			must.Do(t, os.Chdir(dir)) // the name of a socket is short
			must.Do(t, unix.Bind(fd, &unix.SockaddrUnix{Name: "s"}))
			must.Do(t, os.Chdir("/"))
			if os.Geteuid() == 0 {
				_ = unix.Mknod(dir+"/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))) // root of a container may not
			}
		}, 0, 0},
	} {
		s := testStore(t)
		c := used(t, s, "npm", 64)
		tt.leave(c.dataPath())
		r := must.Get(c.Release())(t)
		if r.Bytes > tt.bytes<<10 || r.Files != tt.files || r.Removed.All {
			t.Errorf("%s: %+v", tt.what, r)
		}
		for _, dir := range []string{s.dir.Path(), c.Path} { // nobody else comes to what is in it
			if st := must.Get(os.Stat(dir))(t); st.Mode().Perm() != 0o700 {
				t.Errorf("%s: %s is %v", tt.what, dir, st.Mode())
			}
		}
	}
}

// TestTooManyFiles: the number of files is bounded as their size is.
func TestTooManyFiles(t *testing.T) {
	c := used(t, testStore(t), "npm", 1<<20)
	for i := range 40 {
		must.Do(t, os.WriteFile(fmt.Sprintf("%s/%d", c.dataPath(), i), nil, 0o600))
	}
	e := &evictor{tool: &c.Tool, dir: int(c.dir.Fd()), data: int(c.data.Fd()), most: usage{c.size, 10}}
	if left := must.Get(e.run())(t); left.Files > 10 || e.gone.Files < 30 {
		t.Errorf("%+v, %+v", left, e.gone)
	}
	must.Get(c.Release())(t)
}

// TestSwapped: a link that takes the place of a directory after an eviction has looked at that, is not followed by any
// later step. No payload runs then, but that of a brig that was killed may end a moment later than the next one begins.
func TestSwapped(t *testing.T) {
	for what, step := range map[string]func(w *walk) error{
		"counted":   func(w *walk) error { _, _, err := w.open(w.data, "mod", "mod", 1, false); return err },
		"removed":   func(w *walk) error { return w.remove(w.data, "mod", unit{}) },
		"trashed":   func(w *walk) error { return w.discard(w.data, "mod") },
		"cleared":   func(w *walk) error { return w.clear() },
		"all of it": func(w *walk) error { return w.all() },
	} {
		s := testStore(t)
		c := used(t, s, "go", 64)
		outside := t.TempDir()
		must.Do(t, os.WriteFile(outside+"/victim", make([]byte, 64<<10), 0o400))
		must.Do(t, os.Chmod(outside, 0o500))
		must.Do(t, os.Symlink(outside, c.dataPath()+"/mod"))
		e := &evictor{tool: &c.Tool, dir: int(c.dir.Fd()), data: int(c.data.Fd()), most: usage{1, 0}}
		must.Do(t, e.openTrash())
		w := &walk{evictor: e, cut: time.Now().Add(time.Hour).UnixNano(), excess: usage{1 << 30, 100}}
		err := step(w)
		st := must.Get(os.Stat(outside))(t)
		if _, gone := os.Stat(outside + "/victim"); gone != nil || st.Mode().Perm() != 0o500 {
			t.Errorf("%s: %v, %v, %v", what, err, gone, st.Mode())
		}
		if opens := what == "counted" || what == "trashed"; opens && err == nil {
			t.Errorf("%s: a link is opened", what)
		}
		if w.seen > 1 || len(w.units) > 0 {
			t.Errorf("%s: %d files are seen", what, w.seen)
		}
		must.Do(t, c.close())
		must.Do(t, os.Chmod(outside, 0o700)) // for the removal
	}
}

// TestReplacedBetweenRuns: a link in the place of what the jail is shown is refused, and so is another user's directory.
func TestReplacedBetweenRuns(t *testing.T) {
	s := testStore(t)
	tool := must.Get(Find("npm"))(t)
	for what, replace := range map[string]func(data string) error{
		"a link to a directory": func(data string) error { return os.Symlink(t.TempDir(), data) },
		"a link to nothing":     func(data string) error { return os.Symlink("/none", data) },
		"a file":                func(data string) error { return os.WriteFile(data, nil, 0o600) },
		"a FIFO":                func(data string) error { return unix.Mkfifo(data, 0o600) },
	} {
		c := must.Get(s.Use(tool, Key{Label: what}, 1<<20))(t)
		must.Get(c.Release())(t)
		must.Do(t, os.Remove(c.dataPath()))
		must.Do(t, replace(c.dataPath()))
		if _, err := s.Use(tool, Key{Label: what}, 1<<20); err == nil {
			t.Errorf("%s is shown", what)
		}
	}
}

// TestStoreIsRemoved: a run whose store is removed meanwhile ends with an error.
func TestStoreIsRemoved(t *testing.T) {
	s := testStore(t)
	must.Do(t, os.RemoveAll(s.dir.Path()))
	if _, err := s.Use(must.Get(Find("npm"))(t), Key{}, 1<<20); err == nil {
		t.Error("a cache is made in a directory that is gone")
	}
}
