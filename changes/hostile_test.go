package changes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// Many names of one large file cost the payload nothing; they neither take hours to read nor fill the disk.
func TestAttackManyNames(t *testing.T) {
	const size, count = 64 << 20, maxLinked>>26 + 3
	w := newWorld(t, files{}, files{"a": ""})
	f := must.Get(os.OpenFile(w.upper+"/a", os.O_WRONLY, 0))(t)
	must.Do(t, unix.Fallocate(int(f.Fd()), 0, 0, size))
	must.Do(t, f.Close())
	for i := range count {
		must.Do(t, os.Link(w.upper+"/a", fmt.Sprintf("%s/l%d", w.upper, i)))
	}
	set := w.capture()
	list := must.Get(set.Files())(t)
	if len(list) != count-2 || len(set.LeftOut) != 3 || set.LeftOut[0].Reason != "it is one of many names of a file of 67108864 bytes" {
		t.Errorf("%d files, %+v", len(list), set.LeftOut)
	}
}

// A file or directory with more attributes than a set may hold costs no other change. Only some file systems hold them.
func TestCaptureOfManyAttributes(t *testing.T) {
	w := newWorld(t, files{"f": "f\n"}, files{"f": "F\n", "d/in": "i\n", "y": "y\n"})
	dir := must.Get(os.MkdirTemp("/dev/shm", "brig-test-"))(t)
	must.Do(t, os.Chmod(dir, 0o755))
	defer os.RemoveAll(dir)
	must.Do(t, os.Rename(w.upper, w.upper+".disk"))
	must.Do(t, os.CopyFS(dir+"/upper", os.DirFS(w.upper+".disk")))
	w.upper = dir + "/upper"
	for _, name := range []string{"f", "d"} {
		for i := range 300 {
			err := unix.Setxattr(filepath.Join(w.upper, name), fmt.Sprintf("user.%d", i), make([]byte, 1000), 0)
			if err != nil {
				t.Skip("/dev/shm holds no 300 KB of attributes (Linux 6.6): ", err)
			}
		}
	}
	set := w.capture()
	if got := strings.Join(summary(t, set), ","); got != "added y +1 -0" || len(set.LeftOut) != 2 {
		t.Errorf("%s, %+v", got, set.LeftOut)
	}
}

// A payload that takes its directory every right loses no changes.
func TestCaptureOfALockedMount(t *testing.T) {
	w := newWorld(t, files{"x": "x\n"}, files{"x": "X\n"})
	base, err := os.Open(w.base)
	must.Do(t, err)
	defer base.Close()
	upper, err := os.Open(w.upper)
	must.Do(t, err)
	defer upper.Close()
	must.Do(t, os.Chmod(w.upper, 0))
	defer os.Chmod(w.upper, 0o700)
	kept, err := w.store.Capture(context.Background(), base, upper, w.base, &w.run)
	must.Do(t, err)
	if got := strings.Join(summary(t, kept.Set), ","); got != "changed . +0 -0,changed x +1 -1" {
		t.Error(got)
	}
	if st, err := os.Stat(w.upper); err != nil || st.Mode().Perm() != 0 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

// A file of the host that is written to all the time does not cost the changes of the run.
func TestCaptureWhileTheHostWrites(t *testing.T) {
	w := newWorld(t, files{"log": strings.Repeat("x", 1<<20)}, files{"log": "X\n", "y": "Y\n"})
	stop, stopped := make(chan bool), make(chan error)
	go func() {
		f, err := os.OpenFile(filepath.Join(w.base, "log"), os.O_WRONLY|os.O_APPEND, 0)
		for err == nil {
			select {
			case <-stop:
				stopped <- f.Close()
				return
			default:
				_, err = f.WriteString("x")
			}
		}
		stopped <- err
	}()
	w.run.Started = time.Now().Add(-time.Hour)
	set := w.capture()
	close(stop)
	must.Do(t, <-stopped)
	if list, err := set.Files(); err != nil || len(list) != 2 || !list[0].Raced {
		t.Errorf("%q, %v", summary(t, set), err)
	}
	var conflict *ConflictError
	if _, err := set.Apply(&ApplyOptions{}); !errors.As(err, &conflict) {
		t.Error(err)
	}
}

// As root, apply changes no owner of a stranger's directory that has taken the name of a new one. An apply that is
// finished later does change the owner of its own directories.
func TestAttackAsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	uid := func(path string) uint32 {
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return 1
		}
		return st.Uid
	}
	up := files{"new/": "0777", "new/sub/f": "f\n"}
	for n, more := 1, true; more; n++ {
		w := newWorld(t, files{"theirs/": "0700", "theirs/secret": "s\n"}, up)
		must.Do(t, os.Chown(w.base, 54321, 54321))
		more, _ = atStep(w.capture(), n, ApplyOptions{}, func() {
			if err := os.Rename(w.base+"/new", w.base+"/moved"); err == nil {
				must.Do(t, os.Rename(w.base+"/theirs", w.base+"/new"))
			}
		})
		for _, name := range []string{"new", "theirs"} {
			st, err := os.Lstat(filepath.Join(w.base, name))
			if _, missing := os.Lstat(filepath.Join(w.base, name, "secret")); missing != nil || err != nil {
				continue
			}
			if owner := uid(filepath.Join(w.base, name)); owner != 0 || st.Mode().Perm() != 0o700 {
				t.Errorf("step %d: %s belongs to %d and has mode %v", n, name, owner, st.Mode())
			}
		}
	}
	for n, more := 1, true; more; n++ {
		w := newWorld(t, files{}, up)
		must.Do(t, os.Chown(w.base, 54321, 54321))
		set := w.capture()
		more = w.crashAt(n, set.ID)
		if set, err := w.store.Find(set.ID); err == nil {
			_, err = set.Apply(&ApplyOptions{})
			must.Do(t, err)
		}
		for _, name := range []string{"new", "new/sub", "new/sub/f"} {
			if owner := uid(filepath.Join(w.base, name)); owner != 54321 {
				t.Errorf("step %d: %s belongs to %d", n, name, owner)
			}
		}
	}
}

// The sweep of another process that has found a draft before it was locked costs no change set.
func TestDraftIsMadeAgain(t *testing.T) {
	w := newWorld(t, files{"x": "x\n"}, files{"x": "X\n"})
	stop, stopped := make(chan bool), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
				if _, err := w.store.expire("", time.Now()); err != nil && !errors.Is(err, os.ErrNotExist) {
					stopped <- err
					return
				}
			}
		}
	}()
	for range 100 {
		name, lock, err := w.store.draft()
		if err != nil {
			t.Error(err)
			break
		}
		must.Do(t, errors.Join(w.store.dir.Drop(name), lock.Close()))
	}
	close(stop)
	must.Do(t, <-stopped)
}

// temporary returns the names that an interrupted Apply of w's only set may use in a directory.
func (w *world) temporary(dir string) (list []string) {
	w.t.Helper()
	journals := must.Get(filepath.Glob(filepath.Join(w.store.dir.Path(), "*", journalFile)))(w.t)
	for _, name := range journals {
		var j journal
		text := must.Get(os.ReadFile(name))(w.t)
		must.Do(w.t, json.Unmarshal(text, &j))
		for n := range 10 {
			name := filepath.Join(dir, fmt.Sprintf(".brig-%s-%d", j.Token, n))
			list = append(list, name, name+"-old")
		}
	}
	return list
}

// Somebody who has seen a temporary name puts something there: before it is used, or after the Apply was killed. The

// next Apply takes other names, and leaves directories, which are not its own.
func TestAttackTemporaryName(t *testing.T) {
	obstacles := map[string]func(string) error{
		"directory": func(name string) error { return os.MkdirAll(name+"/x", 0o755) },
		"FIFO":      func(name string) error { return unix.Mkfifo(name, 0o600) },
		"link":      func(name string) error { return os.Symlink("/etc/passwd", name) },
		"file": func(name string) error {
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if err == nil {
				_, err = f.WriteString("evil\n")
				err = errors.Join(err, f.Close())
			}
			return err
		},
	}
	want := files{"x": "0644:X\n", "z": "0644:z\n", "l": "->z"}
	check := func(w *world, set *Set, how string) {
		w.t.Helper()
		again, err := w.store.Find(set.ID)
		if err == nil {
			_, err = again.Apply(&ApplyOptions{})
		}
		if _, ok := errors.AsType[*ConflictError](err); ok { // what was put there is taken for what the host had written
			_, err = again.Apply(&ApplyOptions{Force: true})
		}
		if err != nil && !strings.Contains(err.Error(), "there is no change set") {
			t.Errorf("%s: %v", how, err)
		}
		got := snapshot(t, w.base)
		for name := range got {
			if strings.HasPrefix(name, ".brig-") {
				delete(got, name) // the attacker's: what is of an Apply is gone by TestApplyIsKilled
			}
		}
		equal(t, got, want)
	}
	for what, put := range obstacles {
		for n, more := 1, true; more && !t.Failed(); n++ {
			prepare := func() (*world, *Set) {
				w := newWorld(t, files{"x": "x\n", "y": "y\n"}, files{"x": "X\n", "y": "!", "z": "z\n", "l": "->z"})
				return w, w.capture()
			}
			attack := func(w *world) {
				for _, name := range w.temporary(w.base) {
					_ = put(name) // it fails where the Apply has a file
				}
			}
			w, set := prepare()
			more = w.crashAt(n, set.ID)
			attack(w)
			check(w, set, fmt.Sprintf("a %s after the crash at step %d", what, n))
			w, set = prepare()
			_, err := atStep(set, n, ApplyOptions{}, func() { attack(w) })
			if err != nil && !strings.Contains(err.Error(), "temporary name") && !errors.Is(err, errMoved) {
				t.Errorf("a %s at step %d: %v", what, n, err)
			}
			check(w, set, fmt.Sprintf("a %s at step %d", what, n))
		}
	}
}

// What Capture writes can be read: the longest names, targets and attributes of a file, each character of them with the

// A file of several names with more attributes than a set may hold is left out under each of them.
func TestLinksOfManyAttributes(t *testing.T) {
	w := newWorld(t, files{}, files{"y": "y\n"})
	dir := must.Get(os.MkdirTemp("/dev/shm", "brig-test-"))(t)
	must.Do(t, os.Chmod(dir, 0o755))
	defer os.RemoveAll(dir)
	w.upper = files{"a": "a\n", "y": "y\n"}.make(t, dir)
	must.Do(t, os.Link(dir+"/a", dir+"/b"))
	for i := range 300 {
		if err := unix.Setxattr(dir+"/a", fmt.Sprintf("user.%d", i), make([]byte, 1000), 0); err != nil {
			t.Skip("/dev/shm holds no 300 KB of attributes (Linux 6.6): ", err)
		}
	}
	set := w.capture()
	if list, err := set.Files(); err != nil || len(list) != 1 || len(set.LeftOut) != 2 {
		t.Errorf("%d changes, %+v, %v", len(list), set.LeftOut, err)
	}
}

// What the host has too deep, or under too long a path, and the run has deleted costs no other change. Apply removes

// nothing of it.
func TestCaptureOfDeepDeletions(t *testing.T) {
	for _, name := range []string{strings.Repeat("n", 250), "d"} {
		w := newWorld(t, files{"deep/x": "x\n", "a": "a\n"}, files{"deep": "!", "a": "A\n"})
		dir := must.Get(unix.Open(w.base+"/deep", unix.O_PATH, 0))(t)
		for range maxDepth + 3 {
			must.Do(t, unix.Mkdirat(dir, name, 0o755))
			next, err := unix.Openat(dir, name, unix.O_PATH, 0)
			must.Do(t, errors.Join(err, unix.Close(dir)))
			dir = next
		}
		unix.Close(dir)
		set := w.capture()
		if _, err := set.Files(); err != nil || len(set.LeftOut) == 0 {
			t.Errorf("%+v, %v", set.LeftOut, err)
		}
		var refused *ConflictError
		if _, err := set.Apply(&ApplyOptions{}); !errors.As(err, &refused) {
			t.Error(err)
		}
		must.Get(set.Apply(&ApplyOptions{Paths: []string{"a"}}))(t)
	}
}

// The host renames files and directories while a run's changes are captured: none of the others is lost.
func TestCaptureWhileTheHostRenames(t *testing.T) {
	w := newWorld(t, files{"a": "a\n", "d/x": "x\n", "d/y": "y\n", "e/f/g": "g\n", "o/x": "x\n"},
		files{"a": "A\n", "d/x": "X\n", "d/y": "!", "e": "!", "o/": "opaque", "y": "Y\n"})
	other := files{"a": "->b", "d": "file\n", "e": "->a", "o": "file\n"}.make(t, w.base+".other")
	base := must.Get(unix.Open(w.base, unix.O_PATH, 0))(t)
	defer unix.Close(base)
	from := must.Get(unix.Open(other, unix.O_PATH, 0))(t)
	defer unix.Close(from)
	stop, stopped := make(chan bool), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			for _, name := range []string{"a", "d", "e", "o"} {
				if err := unix.Renameat2(base, name, from, name, unix.RENAME_EXCHANGE); err != nil {
					stopped <- err
					return
				}
			}
		}
	}()
	w.store.Limits.Count = 1
	for n := range 60 {
		w.run.Ended = time.Now()
		set := w.capture()
		if list, err := set.Files(); err != nil || !strings.Contains(strings.Join(summary(t, set), ","), "added y +1 -0") {
			t.Errorf("%d: %d changes, %v", n, len(list), err)
		}
		if t.Failed() {
			break
		}
	}
	close(stop)
	must.Do(t, <-stopped)
}

// A run has removed a directory that forbids to write to it, after a chmod(1) of its copy; so does apply. An Apply that

// is killed meanwhile is finished.
func TestApplyRemovesLockedDirectories(t *testing.T) {
	for n, more := 1, true; more; n++ {
		w := newWorld(t, files{"d/x": "x\n", "d/": "0500", "d/e/y": "y\n", "d/e/": "0500", "f": "f\n"}, files{"d": "!", "f": "F\n"})
		defer os.Chmod(w.base+"/d", 0o700)
		defer os.Chmod(w.base+"/d/e", 0o700)
		set := w.capture()
		more = w.crashAt(n, set.ID)
		if set, err := w.store.Find(set.ID); err == nil {
			_, err = set.Apply(&ApplyOptions{})
			must.Do(t, err)
		}
		equal(t, snapshot(t, w.base), files{"f": "0644:F\n"})
	}
}

// A directory of the run that its owner may not enter does not keep a killed Apply from being finished.
func TestApplyOfLockedDirectoriesIsKilled(t *testing.T) {
	for n, more := 1, true; more; n++ {
		w := newWorld(t, files{}, files{"a/x": "x\n", "b/x": "x\n", "b/": "0000", "b/c/y": "y\n", "b/c/": "0000"})
		set := w.capture()
		must.Do(t, os.Chmod(w.upper+"/b", 0o700)) // for the removal of the test's directory
		must.Do(t, os.Chmod(w.upper+"/b/c", 0o700))
		more = w.crashAt(n, set.ID)
		if set, err := w.store.Find(set.ID); err == nil {
			_, err = set.Apply(&ApplyOptions{})
			must.Do(t, err)
		}
		must.Do(t, os.Chmod(w.base+"/b", 0o700))
		must.Do(t, os.Chmod(w.base+"/b/c", 0o700))
		equal(t, snapshot(t, w.base), files{"a/": "0755", "a/x": "0644:x\n", "b/": "0700", "b/x": "0644:x\n", "b/c/": "0700", "b/c/y": "0644:y\n"})
	}
}

// Many paths of a request are looked up in a table: with a comparison of each path and file this takes hours.
func TestChooseManyPaths(t *testing.T) {
	const count = 300_000
	var list []*File
	var paths []string
	for i := range count {
		path := fmt.Sprintf("directory/%07d", i)
		list, paths = append(list, &File{Path: Name(path), New: &State{Kind: Regular}}), append(paths, path)
	}
	if got, err := choose(list, paths); err != nil || len(got) != count {
		t.Error(len(got), err)
	}
}

// While root applies, the owner of the directory exchanges a directory that the plan has seen for one of root's: it gets

// While root applies, the owner of the directory puts a file of root's at the temporary name of a symbolic link: it is
