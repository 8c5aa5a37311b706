package cache

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/internal/store"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// testStore makes a store of this process's in a directory of the test's.
func testStore(t *testing.T) *Store {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	if os.Geteuid() == 0 {
		was := store.RootDir
		store.RootDir = t.TempDir()
		t.Cleanup(func() { store.RootDir = was })
	}
	s := must.Get(Open())(t)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	return s
}

// put writes a file of some KiB that was used some hours ago. The change time of an inode cannot be set, so the tests
// wait for no clock: what was put first is older.
func put(t *testing.T, c *Cache, name string, kib int) {
	t.Helper()
	full := filepath.Join(c.dataPath(), name)
	must.Do(t, os.MkdirAll(filepath.Dir(full), 0o755))
	must.Do(t, os.WriteFile(full, make([]byte, kib<<10), 0o444))
	time.Sleep(15 * time.Millisecond) // longer than the clock of the file system
}

// left returns the files of a cache.
func left(t *testing.T, c *Cache) (list []string) {
	t.Helper()
	must.Do(t, filepath.WalkDir(c.dataPath(), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, strings.TrimPrefix(path, c.dataPath()+"/"))
		}
		return err
	}))
	return list
}

// TestOldestFirst: Release removes what was used least recently, and in units that a tool takes for complete.
func TestOldestFirst(t *testing.T) {
	for _, tt := range []struct {
		tool  string
		put   []string // in their order, of 64 KiB each
		read  string   // is read at the end
		left  []string
		files int64 // that were removed
	}{
		{"npm", []string{"a", "b", "c"}, "", []string{"b", "c"}, 1},
		{"npm", []string{"a", "b", "c"}, "a", []string{"a", "c"}, 1},
		{"go", []string{"build/a", "mod/x/y@v1/1", "mod/x/y@v1/2"}, "", []string{"mod/x/y@v1/1", "mod/x/y@v1/2"}, 1},
		{"go", []string{"mod/x/y@v1/1", "mod/x/z@v2/1", "mod/x/y@v1/2"}, "",
			[]string{"mod/x/y@v1/1", "mod/x/y@v1/2"}, 2},
		{"own:/c", []string{"a/1", "b/1", "a/2"}, "", []string{"a/1", "a/2"}, 2},
	} {
		s := testStore(t)
		c := must.Get(s.Use(must.Get(Find(tt.tool))(t), Key{Root: HostRoot}, 150<<10))(t)
		for _, name := range tt.put {
			put(t, c, name, 64)
		}
		if tt.read != "" { // relatime: only if the last reading was before the last change
			must.Do(t, os.Chtimes(filepath.Join(c.dataPath(), tt.read), time.Now(), time.Time{}))
		}
		r := must.Get(c.Release())(t)
		if got := left(t, c); !slices.Equal(got, tt.left) || r.Removed.Files != tt.files || r.Bytes > 150<<10 {
			t.Errorf("%s %q: %q, %+v", tt.tool, tt.put, got, r)
		}
	}
}

// TestHostileLeftovers: whatever a payload leaves, an eviction stays in the cache and ends within the size.
func TestHostileLeftovers(t *testing.T) {
	outside := t.TempDir()
	must.Do(t, os.WriteFile(outside+"/victim", make([]byte, 256<<10), 0o600))
	for what, leave := range map[string]func(dir string){
		"links": func(dir string) {
			must.Do(t, os.Symlink(outside, dir+"/dir"))
			must.Do(t, os.Symlink(outside+"/victim", dir+"/file"))
			must.Do(t, os.Symlink("/dev/zero", dir+"/zero"))
			must.Do(t, os.Symlink("dir", dir+"/mod"))
		},
		"FIFOs": func(dir string) {
			for i := range 60 {
				must.Do(t, unix.Mkfifo(fmt.Sprintf("%s/%d", dir, i), 0o666))
			}
		},
		"modes": func(dir string) {
			must.Do(t, os.MkdirAll(dir+"/x/y@v1/z", 0o755))
			must.Do(t, os.WriteFile(dir+"/x/y@v1/z/f", nil, 0))
			for _, d := range []string{"x/y@v1/z", "x/y@v1", "x", "."} {
				must.Do(t, os.Chmod(filepath.Join(dir, d), 0))
			}
		},
		"empty directories": func(dir string) {
			for i := range 100 {
				must.Do(t, os.Mkdir(fmt.Sprintf("%s/\n\x1b[31m%d", dir, i), 0))
			}
		},
		"a deep tree": func(dir string) {
			must.Do(t, os.Chdir(dir))
			for range 400 {
				must.Do(t, os.Mkdir("d", 0o755))
				must.Do(t, os.Chdir("d"))
			}
			must.Do(t, os.Chdir("/"))
		},
		"the future": func(dir string) {
			must.Do(t, os.WriteFile(dir+"/f", nil, 0o600))
			must.Do(t, os.Chtimes(dir+"/f", time.Now().AddDate(100, 0, 0), time.Now().AddDate(100, 0, 0)))
		},
	} {
		s := testStore(t)
		tool := must.Get(Find("go"))(t)
		c := must.Get(s.Use(tool, Key{Root: HostRoot}, 40<<10))(t)
		leave(c.dataPath())
		put := must.Get(s.Use(tool, Key{Root: HostRoot}, 40<<10))(t) // as the next run, which makes the mode good
		must.Do(t, os.WriteFile(put.dataPath()+"/new", make([]byte, 32<<10), 0o600))
		if r := must.Get(put.Release())(t); !r.Shared {
			t.Errorf("%s: %+v", what, r)
		}
		r := must.Get(c.Release())(t)
		if r.Bytes > 40<<10 || r.Files > 12 {
			t.Errorf("%s: %+v", what, r)
		}
		st := must.Get(os.Stat(outside + "/victim"))(t)
		if st.Size() != 256<<10 || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: the file outside is %v", what, st)
		}
		again := must.Get(s.Use(tool, Key{Root: HostRoot}, 40<<10))(t)
		if again.used != r.Bytes {
			t.Errorf("%s: %d bytes and not %d", what, again.used, r.Bytes)
		}
		must.Get(again.Release())(t)
		if _, _, err := Collect(0); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if names := must.Get(os.ReadDir(s.dir.Path()))(t); len(names) > 0 {
			t.Errorf("%s: %v is left", what, names)
		}
	}
}
