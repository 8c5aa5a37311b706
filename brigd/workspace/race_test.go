package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"brig/brigd/job"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// attacker changes names in /work, and itself follows no link.
type attacker struct{ work int }

// in calls f with a directory of a path without links, if there is one.
func (a attacker) in(path string, f func(dir int)) {
	fd, err := openat2(a.work, path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err == nil {
		f(fd)
		unix.Close(fd)
	}
}

// swap exchanges a directory with a link to a forbidden one, a file with a link, and a file with a FIFO, and moves a
// directory up and down, until stop is set.
func (a attacker) swap(around string, stop *atomic.Bool) {
	exchange := func(dir int, name string) {
		_ = unix.Renameat2(dir, name, dir, name+".link", unix.RENAME_EXCHANGE)
	}
	for i := 0; !stop.Load(); i++ {
		exchange(a.work, "d")
		exchange(a.work, "f")
		a.in("d", func(d int) { exchange(d, "f"); exchange(d, "sub") })
		a.in("d/sub", func(sub int) {
			_ = unix.Renameat(sub, "deep", a.work, "deep")
			_ = unix.Renameat(a.work, "deep", sub, "deep")
		})
		if i%16 == 0 {
			a.furnish(around)
		}
	}
}

// furnish makes what swap swaps, where a Remove has taken it.
func (a attacker) furnish(around string) {
	write := func(dir int, name string) {
		if fd, err := openat2(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NONBLOCK); err == nil {
			_, _ = unix.Write(fd, []byte("inside"))
			unix.Close(fd)
		}
	}
	_ = unix.Mkdirat(a.work, "d", 0o755)
	_ = unix.Symlinkat(around+"/outside", a.work, "d.link")
	_ = unix.Symlinkat(around+"/outside/f", a.work, "f.link")
	write(a.work, "f")
	a.in("d", func(d int) {
		write(d, "f")
		_ = unix.Mknodat(d, "f.link", unix.S_IFIFO|0o644, 0)
		_ = unix.Mkdirat(d, "sub", 0o755)
		_ = unix.Symlinkat("../../outside/sub", d, "sub.link")
	})
	a.in("d/sub", func(sub int) { _ = unix.Mkdirat(sub, "deep", 0o755) })
	a.in("d/sub/deep", func(deep int) { _ = unix.Mkdirat(deep, "er", 0o755) })
}

// Whatever is renamed between two system calls, what is read was inside, and outside nothing changes.
func TestSwapRaces(t *testing.T) {
	v, around := newDirIn(t, inMemory(t))
	tree := newTree(v)
	search := newSearch(tree)
	outside := filepath.Join(around, "outside")
	must.Do(t, os.MkdirAll(filepath.Join(outside, "sub/deep"), 0o755))
	for _, f := range []string{"f", "sub/f", "sub/deep/f"} {
		must.Do(t, os.WriteFile(filepath.Join(outside, f), []byte("secret"), 0o644))
	}
	before := snapshot(t, outside)
	work, err := unix.Open(filepath.Join(around, "volume/work"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must.Do(t, err)
	defer unix.Close(work)
	a := attacker{work}
	a.furnish(around)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { a.swap(around, &stop) })
	}
	done := map[string]int{}
	for range 500 {
		for _, p := range []string{"f", "d/f", "d/sub/f"} {
			got, err := tryRead(tree, p)
			if count(t, done, "read", err); got != "" && got != "inside" && got != "put" {
				t.Errorf("%s: read %q", p, got)
			}
			_, err = tree.Put(p, strings.NewReader("put"), 0o666, 0)
			count(t, done, "put", err)
		}
		count(t, done, "mkdir", mkdir(tree, "d/sub/new/er"))
		_, _, err := tree.List("/work", true, "", 0)
		count(t, done, "list", err)
		for _, p := range []string{"f", "d/f", "d/sub/f", "d", "d/sub"} {
			_, err := tools(tree).Chmod(p, 0o777)
			count(t, done, "chmod", err)
			_, err = tools(tree).Stat(p)
			count(t, done, "stat", err)
		}
		for _, p := range []string{"f", "d/f", "d/sub/f"} {
			_, _, err := tools(tree).Edit(p, Edit{Old: "e", New: "e!", All: true}, func(r io.Reader, perm fs.FileMode) (*Entry, error) {
				if text, err := io.ReadAll(r); err != nil || string(text) != "inside!" {
					t.Errorf("%s: edited %q, %v", p, text, err)
				}
				return tree.Put(p, strings.NewReader("inside"), perm, 0)
			})
			count(t, done, "edit", err)
			_, err = tools(tree).Move(p, "d/sub/f", true)
			count(t, done, "move", err)
		}
		list, _, err := search.Glob(t.Context(), "**", "", 0)
		count(t, done, "glob", err)
		for _, e := range list {
			if !strings.HasPrefix(e.path, "/work/") {
				t.Errorf("glob has found %q", e.path)
			}
		}
		for _, path := range []string{"", "d", "d/f"} {
			found, err := search.Grep(t.Context(), &Grep{Pattern: ".", Path: path})
			if count(t, done, "grep", err); err == nil && strings.Contains(fmt.Sprint(found.Lines), "secret") {
				t.Errorf("grep has found %v", found)
			}
		}
		for _, p := range []string{"d/sub/deep", "d/sub/new", "d/f", "d"} {
			count(t, done, "remove", tree.Remove(p))
		}
		for _, p := range []string{"d/f", "d/../f", "d/sub/deep"} {
			_, err := tree.Allowed(p, true)
			count(t, done, "allowed", err)
		}
	}
	stop.Store(true)
	wg.Wait()
	if after := snapshot(t, outside); after != before {
		t.Errorf("outside was\n%sand is\n%s", before, after)
	}
	for _, what := range []string{"read", "put", "mkdir", "list", "remove", "allowed", "chmod", "stat", "edit", "move", "glob", "grep"} {
		if done[what] == 0 || done[what+" refused"] == 0 && what != "allowed" && what != "list" && what != "glob" {
			t.Errorf("%s: the race did not go both ways: %v", what, done)
		}
	}
	t.Log(done)
}

func tryRead(tree *Tree, p string) (string, error) {
	f, _, err := tree.Open(p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	return string(b), err
}

// count takes a refusal as an answer, and any other error as a fault.
func count(t *testing.T, done map[string]int, what string, err error) {
	t.Helper()
	var r *job.Refusal
	switch {
	case err == nil:
		done[what]++
	case errors.As(err, &r):
		done[what+" refused"]++
	default:
		t.Errorf("%s: %v", what, err)
	}
}

// snapshot tells a directory's names, modes, owners, times and texts.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must.Do(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return err
		}
		text := []byte{}
		if d.Type().IsRegular() {
			if text, err = os.ReadFile(p); err != nil {
				return err
			}
		}
		b.WriteString(p + " " + fmt.Sprintf("%04o", st.Mode&0o7777) + " " + itoa(int(st.Uid)) + " " + itoa(int(st.Nlink)) + " " +
			itoa(int(st.Mtim.Nano())) + " " + itoa(int(st.Ctim.Nano())) + " " + string(text) + "\n")
		return nil
	}))
	return b.String()
}
