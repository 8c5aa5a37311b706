package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/sys/unix"

	"brig/internal/test/must"
)

func TestPutOpenListRemove(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		e, err := tree.Put("a/b/run.sh", strings.NewReader("echo\n"), fs.ModeSetuid|0o4755, 5)
		must.Do(t, err)
		if e.Path != "/work/a/b/run.sh" || e.Type != "file" || e.Size != 5 || e.Mode != "0755" || e.RawPath != nil {
			t.Errorf("%+v", e)
		}
		put(t, tree, "/input/data", "given")
		put(t, tree, "/output/empty", "")
		if got := read(t, tree, "/work/a/b/run.sh"); got != "echo\n" {
			t.Errorf("%q", got)
		}
		uid, gid := tree.volume.Owner()
		for _, p := range []string{"work/a", "work/a/b", "work/a/b/run.sh", "input/data"} {
			var st unix.Stat_t
			must.Do(t, unix.Lstat(filepath.Join(at, p), &st))
			if int(st.Uid) != uid || int(st.Gid) != gid || st.Mode&unix.S_IFMT == unix.S_IFDIR && st.Mode&0o777 != 0o755 {
				t.Errorf("%s is %d:%d %o", p, st.Uid, st.Gid, st.Mode)
			}
		}
		list, more, err := tree.List("/", true, "", 0)
		must.Do(t, err)
		want := []string{"/input", "/input/data", "/output", "/output/empty", "/work", "/work/a", "/work/a/b",
			"/work/a/b/run.sh"}
		if !slices.Equal(paths(list), want) || more {
			t.Errorf("%q, %v", paths(list), more)
		}
		if list, more, err = tree.List("/", true, "", 3); err != nil || !more || len(list) != 3 || list[2].Path != "/work" {
			t.Errorf("three: %q, %v, %v", paths(list), more, err)
		}
		if list, more, err = tree.List(".", false, "", 0); err != nil || more || len(list) != 1 || list[0].Type != "dir" {
			t.Errorf("one level: %+v, %v, %v", list, more, err)
		}
		must.Do(t, mkdir(tree, "/work/a/b/")) // there already
		must.Do(t, mkdir(tree, "/output/x/y"))
		must.Do(t, tree.Remove("/work/a/"))
		must.Do(t, tree.Remove("/output/empty"))
		if _, err := stat(tree, "/work/a"); err == nil {
			t.Error("it is still there")
		}
		if e, err := stat(tree, "/output/x/y/"); err != nil || e.Type != "dir" {
			t.Errorf("%+v, %v", e, err)
		}
		onlyAreas(t, at)
	})
}

func TestRefusals(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		put(t, tree, "f", "")
		must.Do(t, mkdir(tree, "d/e"))
		putAt := func(path string) error { _, err := tree.Put(path, strings.NewReader("x"), 0o644, 0); return err }
		open := func(path string) error { _, _, err := tree.Open(path); return err }
		list := func(path string) error { _, _, err := tree.List(path, true, "", 0); return err }
		stat := func(path string) error { _, err := stat(tree, path); return err }
		for _, c := range []struct {
			what string
			err  error
			code string
		}{
			{"put onto a directory", putAt("d"), CodeIsDir},
			{"put below a file", putAt("f/x"), CodeNotDir},
			{"put with a slash", putAt("g/"), CodeBadPath},
			{"put in the root", putAt("/x"), CodeOutside},
			{"put onto an area", putAt("/work"), CodeBadPath},
			{"open nothing", open("g"), CodeNotFound},
			{"open below nothing", open("g/h"), CodeNotFound},
			{"open a directory", open("d"), CodeIsDir},
			{"open below a file", open("f/x"), CodeNotDir},
			{"open with a slash", open("f/"), CodeBadPath},
			{"list a file", list("f"), CodeNotDir},
			{"list nothing", list("g"), CodeNotFound},
			{"stat a file as a directory", stat("f/"), CodeNotDir},
			{"make a directory on a file", mkdir(tree, "f"), CodeNotDir},
			{"remove an area", tree.Remove("/output"), CodeBadPath},
			{"remove the root", tree.Remove("/"), CodeBadPath},
			{"remove nothing", tree.Remove("g"), CodeNotFound},
			{"remove a file as a directory", tree.Remove("f/"), CodeNotDir},
		} {
			wantCode(t, c.what, c.err, c.code)
		}
		if _, err := tree.Put("f", strings.NewReader("12345"), 0o644, 4); err != nil {
			wantCode(t, "5 bytes of 4", err, CodeTooLarge)
		} else {
			t.Error("5 bytes of 4 were taken")
		}
		broken := errors.New("cable")
		if _, err := tree.Put("f", io.MultiReader(strings.NewReader("12"), iotest.ErrReader(broken)), 0o644, 0); err == nil ||
			!strings.Contains(err.Error(), "cable") {
			t.Errorf("a broken reader: %v", err)
		}
		if got := read(t, tree, "f"); got != "" {
			t.Errorf("what was there is now %q", got)
		}
		onlyAreas(t, at)
	})
}

// A name is replaced: whoever has the old file open, or another name of it, keeps that.
func TestPutReplacesAName(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		put(t, tree, "f", "old")
		must.Do(t, os.Link(at+"/work/f", at+"/output/other"))
		old, err := os.OpenFile(at+"/work/f", os.O_RDWR, 0)
		must.Do(t, err)
		defer old.Close()
		put(t, tree, "f", "new!")
		if got := read(t, tree, "/output/other"); got != "old" {
			t.Errorf("the other name has %q", got)
		}
		if _, err := old.WriteAt([]byte("XXXX"), 0); err != nil {
			t.Error(err)
		}
		if got := read(t, tree, "f"); got != "new!" {
			t.Errorf("an open descriptor has changed it to %q", got)
		}
		must.Do(t, os.Symlink("../output/other", at+"/work/link"))
		must.Do(t, unix.Mkfifo(at+"/work/fifo", 0o666))
		for _, p := range []string{"link", "fifo"} {
			put(t, tree, p, "plain")
			if e, err := stat(tree, p); err != nil || e.Type != "file" {
				t.Errorf("%s is %+v, %v", p, e, err)
			}
		}
		if got := read(t, tree, "/output/other"); got != "XXXX" {
			t.Errorf("the link was written through: %q", got)
		}
	})
}

// The kernel's quota holds for the host as well, what fails leaves nothing, and a full volume can be emptied.
func TestQuota(t *testing.T) {
	v := newReal(t, 1<<20, 40)
	tree := newTree(v)
	at := "/proc/self/fd/" + itoa(int(v.Root().Fd()))
	_, err := tree.Put("big", io.LimitReader(zeros{}, 2<<20), 0o644, 0)
	wantCode(t, "2 MiB of 1", err, CodeDiskFull)
	bytes, inodes, err := tree.Usage()
	if err != nil || bytes != 0 || inodes != 4 {
		t.Errorf("%d bytes and %d inodes are left behind, %v", bytes, inodes, err)
	}
	put(t, tree, "big", strings.Repeat("x", 900<<10))
	_, err = tree.Put("big", io.LimitReader(zeros{}, 200<<10), 0o644, 0)
	wantCode(t, "replacing it", err, CodeDiskFull)
	if e, err := stat(tree, "big"); err != nil || e.Size != 900<<10 {
		t.Errorf("the old one: %+v, %v", e, err)
	}
	err = nil
	for i := 0; err == nil && i < 50; i++ {
		err = mkdir(tree, "d"+strings.Repeat("/d", i))
	}
	wantCode(t, "directories", err, CodeDiskFull)
	_, err = tree.Put("one", strings.NewReader(""), 0o644, 0)
	wantCode(t, "a file without an inode", err, CodeDiskFull)
	if bytes, inodes, err = tree.Usage(); err != nil || bytes != 900<<10 || inodes != 40 {
		t.Errorf("%d bytes, %d inodes, %v", bytes, inodes, err)
	}
	must.Do(t, tree.Remove("d"))
	must.Do(t, tree.Remove("big"))
	if bytes, inodes, err = tree.Usage(); err != nil || bytes != 0 || inodes != 4 {
		t.Errorf("%d bytes, %d inodes, %v", bytes, inodes, err)
	}
	onlyAreas(t, at)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// Close ends what waits for somebody, so that nothing keeps the volume.
func TestClose(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		put(t, tree, "f", "text")
		f, _, err := tree.Open("f")
		must.Do(t, err)
		r, w := io.Pipe()
		failed := make(chan error)
		go func() {
			_, err := tree.Put("g", r, 0o644, 0)
			failed <- err
		}()
		_, err = w.Write([]byte("some")) // taken: the file is staged
		must.Do(t, err)
		if list, _, err := tree.List("/", true, "", 0); err != nil || len(list) != 4 || list[3].Path != "/work/f" {
			t.Errorf("while a file is being put: %q, %v", paths(list), err)
		}
		tree.Close()
		if _, err := f.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
			t.Errorf("an open file: %v", err)
		}
		go w.Write([]byte("more"))
		wantCode(t, "put", <-failed, CodeNotFound)
		_, _, err = tree.Open("f")
		wantCode(t, "open", err, CodeNotFound)
		_, err = stat(tree, "f")
		wantCode(t, "stat", err, CodeNotFound)
		onlyAreas(t, at)
		must.Do(t, r.Close())
	})
}

// If a Volume is closed under its Tree, calls are refused, even if its descriptor's number is reused for another
// directory.
func TestVolumeClosed(t *testing.T) {
	v, _ := newDir(t)
	tree := newTree(v)
	must.Do(t, v.Close())
	_, err := tree.Put("f", strings.NewReader(""), 0o644, 0)
	wantCode(t, "put", err, CodeNotFound)
	_, _, err = tree.List("/", true, "", 0)
	wantCode(t, "list", err, CodeNotFound)
	_, err = tree.Allowed("f", false)
	wantCode(t, "allowed", err, CodeNotFound)
	_, _, err = tree.Usage()
	wantCode(t, "usage", err, CodeNotFound)
}

// Files that their callers have closed are not kept for ever.
func TestHeldFilesArePruned(t *testing.T) {
	v, _ := newDir(t)
	tree := newTree(v)
	put(t, tree, "f", "")
	for range 1000 {
		f, _, err := tree.Open("f")
		must.Do(t, err)
		must.Do(t, f.Close())
	}
	if n := len(tree.files); n > 64 {
		t.Errorf("%d files are held", n)
	}
}

// A directory with more files than one list has is listed whole, a page after the other.
func TestListPages(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, _ string) {
		want := map[string]bool{}
		for i := range 25 {
			name := fmt.Sprintf("/work/f%02d\xff", i*7%25)
			put(t, tree, name, "")
			want[name] = true
		}
		after, more := "", true
		for pages := 1; more; pages++ {
			var list []Entry
			var err error
			if list, more, err = tree.List("/work", false, after, 4); err != nil || len(list) == 0 || len(list) > 4 ||
				more != (pages < 7) {
				t.Fatal(pages, list, more, err)
			}
			for _, e := range list {
				raw := string(e.RawPath)
				if !want[raw] || raw <= after {
					t.Errorf("%q after %q", raw, after)
				}
				delete(want, raw)
				after = raw
			}
		}
		if len(want) > 0 {
			t.Errorf("not listed: %v", want)
		}
		if _, _, err := tree.List("/work", true, "/work/a", 4); err == nil {
			t.Error("a second page of a tree")
		}
	})
}
