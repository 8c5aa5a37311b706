package boxes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { os.Exit(asuser.Main(m)) }

// What a program leaves is gone through to the bottom: deeper than the limit on open files, through directories without
// permissions, and never through a link.
func TestSettle(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	must.Do(t, os.WriteFile(outside+"/f", nil, 0o600))
	must.Do(t, os.Mkdir(dir+"/box", 0o700))
	at := must.Get(unix.Open(dir+"/box", unix.O_RDONLY|unix.O_DIRECTORY, 0))(t)
	const depth, below = 300, "a-name-so-long-that-the-path-to-the-bottom-cannot-be-written"
	var files unix.Rlimit
	must.Do(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &files))
	must.Do(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: depth / 2, Max: files.Max}))
	t.Cleanup(func() { must.Do(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &files)) })
	var dirs []int
	for i := range depth {
		must.Do(t, unix.Symlinkat(outside, at, "link"))
		must.Do(t, unix.Mkfifoat(at, "fifo", 0o600))
		must.Do(t, unix.Mkdirat(at, below, 0o700))
		next := must.Get(unix.Openat(at, below, unix.O_RDONLY|unix.O_DIRECTORY, 0))(t)
		if i%100 == 50 {
			dirs = append(dirs, at)
		} else {
			unix.Close(at)
		}
		at = next
	}
	unix.Close(at)
	for _, fd := range dirs {
		must.Do(t, unix.Fchmod(fd, 0))
	}
	root := must.Get(os.Open(dir))(t) // it alone closes its descriptor
	defer root.Close()
	top := int(root.Fd())
	uid := -1
	if os.Geteuid() == 0 {
		uid = 4711
	}
	must.Do(t, (&Walk{UID: uid, GID: uid}).settle(top, "box"))
	for _, fd := range dirs {
		var st unix.Stat_t
		must.Do(t, unix.Fstat(fd, &st))
		if st.Mode&0o7777 != 0 || uid >= 0 && st.Uid != uint32(uid) {
			t.Errorf("mode %o, owner %d", st.Mode, st.Uid)
		}
		for _, name := range []string{"link", "fifo"} {
			if os.Geteuid() == 0 && unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != unix.ENOENT {
				t.Errorf("%s is still there", name)
			}
		}
		unix.Close(fd)
	}
	if st, err := os.Stat(outside + "/f"); err != nil || st.Sys() == nil {
		t.Error(err)
	}
	b := &Box{root: root, name: "box"}
	must.Do(t, b.Remove())
}

// A box has one owner and one holder; a directory of boxes that others can write to is refused.
func TestBox(t *testing.T) {
	dir := t.TempDir()
	root := must.Get(OpenOwn("box_root", dir+"/boxes"))(t)
	defer root.Close()
	take := func(edit func(*Box), create, cleanup bool) (bool, error) {
		b := New(root, 5, false, -1, -1)
		edit(b)
		there, err := b.Take(dir+"/locks", create, cleanup, false)
		if err == nil && create {
			err = b.Make()
		}
		if b.lock != nil {
			defer b.lock.Close()
		}
		return there, err
	}
	none := func(*Box) {}
	for _, step := range []struct {
		name            string
		edit            func(*Box)
		create, cleanup bool
		there           bool
		bad             string
	}{
		{"run before init", none, false, false, false, ""},
		{"cleanup before init", none, false, true, false, ""},
		{"init", none, true, false, true, ""},
		{"init again", none, true, false, true, ""},
		{"run", none, false, false, true, ""},
		{"another user", func(b *Box) { b.UID, b.any = b.UID+1, false }, false, false, false, "belongs to a different user"},
		{"cg", func(b *Box) { b.cg = true }, false, false, false, "incompatible control group mode"},
	} {
		there, err := take(step.edit, step.create, step.cleanup)
		if there != step.there || (err == nil) != (step.bad == "") || err != nil && !strings.Contains(err.Error(), step.bad) {
			t.Errorf("%s: %v, %v", step.name, there, err)
		}
	}
	// another user who can open the file can lock it, too, and the box is in use for ever
	if st, err := os.Stat(dir + "/locks/5"); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the lock file: %v %v", st.Mode(), err)
	}
	must.Do(t, os.WriteFile(dir+"/locks/5", []byte("Hsol"), 0o600))
	if _, err := take(none, false, false); err == nil || !strings.Contains(err.Error(), "incompatible format") {
		t.Error(err)
	}
	must.Do(t, os.Remove(dir+"/locks/5"))
	must.Do(t, os.Symlink("/etc/passwd", dir+"/locks/5"))
	if _, err := take(none, true, false); err == nil {
		t.Error("a lock file that is a link is opened")
	}
	must.Do(t, os.Chmod(dir+"/boxes", 0o777))
	if _, err := OpenOwn("box_root", filepath.Join(dir, "boxes")); err == nil || !strings.Contains(err.Error(), "writable to no other user") {
		t.Error(err)
	}
}

// A file of another user's, which the owner of a box has linked into it, does not become the program's or the owner's, not
// even when its first name is gone. A file that root has put there does.
func TestLinkedFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	dir := t.TempDir()
	must.Do(t, os.Mkdir(dir+"/box", 0o700))
	must.Do(t, os.WriteFile(dir+"/secret", nil, 0o600))
	must.Do(t, os.WriteFile(dir+"/box/own", nil, 0o600))
	must.Do(t, os.Chown(dir+"/box/own", 4711, 4711))
	must.Do(t, os.Link(dir+"/box/own", dir+"/box/too"))
	top := must.Get(unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0))(t)
	defer unix.Close(top)
	w := &Walk{UID: 4712, GID: 4712, Owners: []int{4711, 4712}}
	must.Do(t, w.settle(top, "box"))
	for _, row := range []struct{ uid, names, want int }{{0, 1, 4712}, {0, 2, 0}, {4713, 1, 4713}, {4713, 2, 4713}} {
		must.Do(t, os.WriteFile(dir+"/first", nil, 0o600))
		must.Do(t, os.Chown(dir+"/first", row.uid, row.uid))
		must.Do(t, os.Link(dir+"/first", dir+"/box/link"))
		if row.names == 1 {
			must.Do(t, os.Remove(dir+"/first"))
		}
		err := w.settle(top, "box")
		if refused := err != nil && strings.Contains(err.Error(), "linked from elsewhere"); refused != (row.want == row.uid) {
			t.Errorf("%+v: %v", row, err)
		}
		var st unix.Stat_t
		must.Do(t, unix.Stat(dir+"/box/link", &st))
		if int(st.Uid) != row.want {
			t.Errorf("%+v: the file belongs to uid %d", row, st.Uid)
		}
		must.Do(t, os.Remove(dir+"/box/link"))
	}
}
