package ghost

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"brig/internal/store"
	"brig/internal/test/asuser"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { os.Exit(asuser.Main(m)) }

// scene returns a directory for ghosts, and an empty store.
func scene(t *testing.T) (dir, notes string) {
	t.Helper()
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	store.RootDir = state + "/brig"
	notes = must.Get(notesDir())(t)
	return t.TempDir(), notes
}

func hold(t *testing.T, places ...Place) *Set {
	t.Helper()
	return must.Get(Hold(opened(t, places)))(t)
}

// opened opens the directories of places.
func opened(t *testing.T, places []Place) []Place {
	t.Helper()
	for i := range places {
		p := &places[i]
		fd := must.Get(unix.Open(p.Dir, unix.O_PATH|unix.O_CLOEXEC, 0))(t)
		t.Cleanup(func() { unix.Close(fd) })
		p.Root, p.Below = fd, "."
	}
	return places
}

func release(t *testing.T, s *Set) {
	t.Helper()
	must.Do(t, s.Release())
}

func mode(t *testing.T, name string) os.FileMode {
	t.Helper()
	st, err := os.Lstat(name)
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	must.Do(t, err)
	return st.Mode()
}

func left(t *testing.T, store string) []string {
	t.Helper()
	return must.Get(filepath.Glob(store + "/run-*"))(t)
}

// TestHold: what stands for absent files is there while a run lasts, and nothing afterwards.
func TestHold(t *testing.T) {
	dir, store := scene(t)
	must.Do(t, os.WriteFile(dir+"/there", nil, 0o644))
	s := hold(t, Place{Dir: dir, Name: "socket"}, Place{Dir: dir, Name: "file", Text: ".\n"}, Place{Dir: dir, Name: "there"})
	if m := mode(t, dir+"/socket"); m.Type() != os.ModeSocket {
		t.Errorf("the ghost is %s", m)
	}
	if b, err := os.ReadFile(dir + "/file"); err != nil || string(b) != ".\n" {
		t.Errorf("the file has %q, %v", b, err)
	}
	if m := mode(t, filepath.Dir(store)).Perm(); os.Geteuid() == 0 && m&0o011 != 0o011 || mode(t, store).Perm() != 0o700 {
		t.Errorf("other stores of root's, beside the notes, cannot be reached: %s", m)
	}
	release(t, s)
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 || list[0].Name() != "there" {
		t.Errorf("afterwards the directory has %v, %v", list, err)
	}
	if list := left(t, store); len(list) > 0 {
		t.Errorf("notes are left: %q", list)
	}
	if s := hold(t, Place{Dir: dir, Name: "there"}); s != nil {
		t.Error("a run without absent paths has a note")
	}
}

// TestShared: two runs have one ghost, and the last one removes it.
func TestShared(t *testing.T) {
	dir, _ := scene(t)
	at := Place{Dir: dir, Name: "x"}
	first, second := hold(t, at), hold(t, at)
	release(t, first)
	if mode(t, dir+"/x") == 0 {
		t.Fatal("the first of two runs has removed what both have")
	}
	third := hold(t, at)
	release(t, second)
	release(t, third)
	if mode(t, dir+"/x") != 0 {
		t.Error("the last run has left it")
	}
}

// TestSharedOtherwise: two runs have one ghost, too, if they reach it by other paths, or one wants another type of file.
func TestSharedOtherwise(t *testing.T) {
	dir, _ := scene(t)
	places := opened(t, []Place{{Dir: dir, Name: "x", Text: ".\n"}, {Dir: dir, Name: "x"}, {Dir: dir, Name: "x"}})
	places[2].Dir = dir + "/../" + filepath.Base(dir) // a bind mount of the host's is such another path
	release(t, hold(t, places...))                    // one run reaches it by two paths
	for _, other := range places[1:] {
		var runs []*Set
		for _, p := range []Place{places[0], other} {
			s := must.Get(Hold([]Place{p}))(t)
			runs = append(runs, s)
		}
		release(t, runs[0])
		if mode(t, dir+"/x") == 0 {
			t.Fatalf("%+v: the first of two runs has removed what both have", other)
		}
		release(t, runs[1])
		if mode(t, dir+"/x") != 0 {
			t.Errorf("%+v: the last run has left it", other)
		}
	}
}

// TestOthersFilesStay: what somebody has put in the place of a ghost is theirs.
func TestOthersFilesStay(t *testing.T) {
	dir, _ := scene(t)
	s := hold(t, Place{Dir: dir, Name: "file"}, Place{Dir: dir, Name: "socket"}, Place{Dir: dir, Name: "text", Text: "."}, Place{Dir: dir, Name: "changed", Text: "."})
	for _, name := range []string{"file", "socket", "text"} {
		if err := os.Rename(dir+"/"+name, dir+"/moved-"+name); err != nil { // so that no inode number is used again
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(dir+"/file", []byte("mine"), 0o644), os.WriteFile(dir+"/text", []byte("."), 0o644),
		unix.Mknod(dir+"/socket", unix.S_IFSOCK|0o644, 0), os.Chmod(dir+"/changed", 0o644),
		os.WriteFile(dir+"/changed", []byte("mine"), 0o644)); err != nil {
		t.Fatal(err)
	}
	release(t, s)
	for _, name := range []string{"file", "socket", "text", "changed"} {
		if mode(t, dir+"/"+name) == 0 {
			t.Errorf("%s was removed", name)
		}
	}
}

// die leaves a note as a killed run does: nobody has its lock.
func die(t *testing.T, s *Set, entries []entry) {
	t.Helper()
	text := must.Get(encode(entries))(t)
	must.Do(t, errors.Join(os.WriteFile(s.note.Name(), text, 0o600), s.note.Close()))
}

// TestAfterAKill: the next run, or gc, removes what a killed one has left, whenever it was killed.
func TestAfterAKill(t *testing.T) {
	for name, collect := range map[string]func(t *testing.T, dir string) []string{
		"next run": func(t *testing.T, dir string) []string {
			release(t, hold(t, Place{Dir: dir, Name: "other"}))
			return nil
		},
		"gc": func(t *testing.T, dir string) []string {
			return must.Get(Collect())(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, store := scene(t)
			alive := hold(t, Place{Dir: dir, Name: "shared"})
			s := hold(t, Place{Dir: dir, Name: "made"}, Place{Dir: dir, Name: "noted"}, Place{Dir: dir, Name: "never"}, Place{Dir: dir, Name: "shared"})
			must.Do(t, os.Remove(dir+"/never"))
			s.entries[1].Ino, s.entries[2].Ino = 0, 0 // killed before their inode numbers were noted
			die(t, s, s.entries)
			if removed := collect(t, dir); removed != nil && len(removed) != 3 {
				t.Errorf("removed %q", removed)
			}
			if mode(t, dir+"/made") != 0 || mode(t, dir+"/noted") != 0 || mode(t, dir+"/shared") == 0 {
				t.Error("the dead run's ghosts are left, or a living one's gone")
			}
			if list := left(t, store); len(list) != 1 {
				t.Errorf("notes: %q", list)
			}
			release(t, alive)
		})
	}
}

// TestNames: notes keep names of any bytes, however long all of them are: a run sees what a living one has made, and the
// next one removes what a killed one has left.
func TestNames(t *testing.T) {
	var many []string
	for i := range 512 { // as many as a jail can protect
		many = append(many, strings.Repeat("<", 200)+strconv.Itoa(i))
	}
	for name, c := range map[string]struct {
		below string
		names []string
		cut   int64 // what is missing of the note
	}{
		"not UTF-8": {"d\xff", []string{"n\xfe\n", "\"q\"", "é", ".envrc"}, 0},
		"quotes":    {`"d"`, []string{`"q\n"`, "x"}, 2},
		"long":      {strings.Repeat(strings.Repeat("<", 200)+"/", 15), many, 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			top, store := scene(t)
			dir := filepath.Join(top, c.below)
			must.Do(t, os.MkdirAll(dir, 0o755))
			var places []Place
			for _, n := range c.names {
				places = append(places, Place{Dir: dir, Name: n})
			}
			s, second := hold(t, places...), hold(t, places...)
			release(t, second)
			if list, err := os.ReadDir(dir); err != nil || len(list) != len(c.names) {
				t.Errorf("the second run has left %d of %d ghosts of the first one, %v", len(list), len(c.names), err)
			}
			size, err := s.note.Seek(0, io.SeekCurrent)
			if err := errors.Join(err, s.note.Truncate(size-c.cut), s.note.Close()); err != nil { // as if it were killed
				t.Fatal(err)
			}
			if removed, err := Collect(); err != nil || len(removed) != len(c.names) || removed[0][:len(dir)] != dir {
				t.Errorf("removed %d: %.100q, %v", len(removed), removed, err)
			}
			if list, err := os.ReadDir(dir); err != nil || len(list) > 0 || len(left(t, store)) > 0 {
				t.Errorf("left: %d, %v", len(list), err)
			}
		})
	}
}

// TestCutOffNote: a note that a crash has cut off names nothing that was made.
func TestCutOffNote(t *testing.T) {
	dir, store := scene(t)
	release(t, hold(t, Place{Dir: dir, Name: "x"}))
	for _, text := range []string{"", `[{"dir":"/`, "null", `[{"dir":"\"","name":"keep","ino":0}]`, `[{"dir":"` + dir + `","name":"keep","ino":0}]`} {
		if err := errors.Join(os.WriteFile(store+"/run-cut", []byte(text), 0o600), os.WriteFile(dir+"/keep", nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		if removed, err := Collect(); err != nil || len(removed) > 0 {
			t.Errorf("%q: removed %q, %v", text, removed, err)
		}
	}
	if list := left(t, store); len(list) > 0 {
		t.Errorf("notes are left: %q", list)
	}
}

// TestMovedDirectory: a directory in the place of the noted one is not searched.
func TestMovedDirectory(t *testing.T) {
	dir, _ := scene(t)
	sub := dir + "/sub"
	must.Do(t, os.Mkdir(sub, 0o755))
	s := hold(t, Place{Dir: sub, Name: "x"})
	if err := errors.Join(os.Rename(sub, dir+"/old"), os.Mkdir(sub, 0o755), unix.Mknod(sub+"/x", unix.S_IFSOCK|0o644, 0)); err != nil {
		t.Fatal(err)
	}
	release(t, s)
	if mode(t, sub+"/x") == 0 {
		t.Error("a socket in another directory was removed")
	}
}

// TestNoStore: where nothing can be noted, nothing is made.
func TestNoStore(t *testing.T) {
	dir, _ := scene(t)
	file := dir + "/file"
	must.Do(t, os.WriteFile(file, nil, 0o644))
	store.RootDir = file + "/brig"
	t.Setenv("XDG_STATE_HOME", file)
	if s, err := Hold(opened(t, []Place{{Dir: dir, Name: "x"}})); err == nil || s != nil || mode(t, dir+"/x") != 0 {
		t.Errorf("%v, %v, %s", s, err, mode(t, dir+"/x"))
	}
}

// TestForeignNotes: where others may write notes, or have made the directory, nothing is made and nothing removed.
func TestForeignNotes(t *testing.T) {
	foreign := map[string]func(store string) error{"writable": func(store string) error { return os.Chmod(store, 0o770) }}
	if os.Geteuid() == 0 {
		foreign["another's"] = func(store string) error { return os.Chown(store, asuser.UID, asuser.UID) }
	}
	for name, change := range foreign {
		dir, store := scene(t)
		s := hold(t, Place{Dir: dir, Name: "dead"})
		die(t, s, s.entries)
		must.Do(t, change(store))
		if s, err := Hold(opened(t, []Place{{Dir: dir, Name: "x"}})); err == nil || s != nil || mode(t, dir+"/x") != 0 {
			t.Errorf("%s: %v, %v, %s", name, s, err, mode(t, dir+"/x"))
		}
		if removed, err := Collect(); err == nil || len(removed) > 0 || mode(t, dir+"/dead") == 0 {
			t.Errorf("%s: removed %q, %v", name, removed, err)
		}
	}
}

// TestAnotherDirectory: nothing is made by a path that leads elsewhere by now.
func TestAnotherDirectory(t *testing.T) {
	dir, _ := scene(t)
	sub := dir + "/sub"
	must.Do(t, errors.Join(os.Mkdir(sub, 0o755), os.Mkdir(dir+"/victim", 0o755)))
	places := opened(t, []Place{{Dir: dir, Name: "x"}})
	places[0].Dir, places[0].Below = sub, "sub"
	must.Do(t, errors.Join(os.Rename(sub, dir+"/old"), os.Symlink("victim", sub)))
	if s, err := Hold(places); err == nil || mode(t, dir+"/victim/x") != 0 {
		t.Errorf("%v, %v", s, err)
	}
}

// TestHalfway: if one place cannot be held, none is, and nothing is left.
func TestHalfway(t *testing.T) {
	dir, store := scene(t)
	long := string(make([]byte, 300)) // ENAMETOOLONG
	if s, err := Hold(opened(t, []Place{{Dir: dir, Name: "x"}, {Dir: dir, Name: strings.ReplaceAll(long, "\x00", "y")}})); err == nil {
		t.Error(s)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 || len(left(t, store)) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}

// TestForgedNotes: a note of another path, birth, mode or text removes nothing, and what is no file does not stop runs.
func TestForgedNotes(t *testing.T) {
	dir, store := scene(t)
	if err := errors.Join(os.MkdirAll(store, 0o700), unix.Mkfifo(store+"/run-fifo", 0o600), os.Mkdir(dir+"/sub", 0o755),
		os.Mkdir(dir+"/empty", 0o755), unix.Mknod(dir+"/bound", unix.S_IFSOCK|0o755, 0),
		unix.Mknod(dir+"/sub/deep", unix.S_IFSOCK|0o644, 0), unix.Mknod(dir+"/later", unix.S_IFSOCK|0o644, 0)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"empty", "bound", "sub/deep", "later"} {
		var at, st unix.Stat_t
		must.Do(t, errors.Join(unix.Stat(dir, &at), unix.Lstat(dir+"/"+name, &st)))
		e := entry{Dir: dir, Name: name, Dev: uint64(at.Dev), At: at.Ino, Ino: st.Ino}
		if name == "later" {
			e.Born = 1
		}
		text := must.Get(encode([]entry{e}))(t)
		must.Do(t, os.WriteFile(store+"/run-"+filepath.Base(name), text, 0o600))
	}
	if _, err := Collect(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"empty", "bound", "sub/deep", "later"} {
		if mode(t, dir+"/"+name) == 0 {
			t.Errorf("%s was removed", name)
		}
	}
}
