package store

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

func TestMain(m *testing.M) {
	if step := os.Getenv(crashVar); step != "" {
		crash(step)
		return
	}
	os.Exit(asuser.Main(m))
}

func every(string) bool { return true }

// open returns a new store.
func open(t *testing.T) *Dir {
	t.Helper()
	path := t.TempDir() + "/store"
	must.Do(t, os.Mkdir(path, 0o700))
	return again(t, path)
}

func again(t *testing.T, path string) *Dir {
	t.Helper()
	d := must.Get(Open(path, 0, Writing))(t)
	t.Cleanup(func() { d.Close() })
	return d
}

// TestOpen: a directory is opened if it is this user's, and others have no permission that they may not have.
func TestOpen(t *testing.T) {
	for mode, want := range map[os.FileMode][2]bool{0o700: {true, true}, 0o755: {true, false}, 0o711: {true, false}, 0o720: {}, 0o702: {}, 0o777 | os.ModeSticky: {}} {
		dir := t.TempDir()
		must.Do(t, os.Chmod(dir, mode))
		for i, others := range []uint32{Writing, Any} {
			d, err := Open(dir, 0, others)
			if err == nil {
				d.Close()
			}
			var foreign *NotOwn
			if (err == nil) != want[i] || err != nil && !errors.As(err, &foreign) {
				t.Errorf("mode %o, others %o: %v", mode, others, err)
			}
		}
	}
	dir := t.TempDir()
	must.Do(t, errors.Join(os.Chmod(dir, 0o700), os.Symlink(dir, dir+"/link"), os.WriteFile(dir+"/file", nil, 0o600), unix.Mkfifo(dir+"/fifo", 0o600)))
	for _, name := range []string{"/link", "/file", "/fifo", "/none"} {
		if d, err := Open(dir+name, unix.O_NOFOLLOW, Writing); err == nil {
			d.Close()
			t.Errorf("%s is opened", name)
		}
	}
	d := must.Get(Open(dir+"/link", 0, Writing))(t)
	must.Do(t, d.Close())
	if _, err := d.Names(every); err == nil {
		t.Error("it is used after Close")
	}
	if os.Geteuid() == 0 {
		must.Do(t, os.Chown(dir, asuser.UID, asuser.UID))
		var foreign *NotOwn
		if _, err := Open(dir, 0, Writing); !errors.As(err, &foreign) || foreign.UID != asuser.UID {
			t.Errorf("another's: %v", err)
		}
	}
}

// TestHostileNames: no name leads out of the store or blocks, whatever it is by now.
func TestHostileNames(t *testing.T) {
	d, outside := open(t), t.TempDir()
	at := d.Path()
	must.Do(t, errors.Join(os.WriteFile(outside+"/secret", nil, 0o600), os.Symlink(outside, at+"/link"), os.Symlink(outside+"/secret", at+"/file"), unix.Mkfifo(at+"/fifo", 0o600), os.Mkdir(at+"/dir", 0o700), os.Symlink("../..", at+"/dir/up")))
	for _, name := range []string{"link", "file", "link/secret", "dir/up", "dir/up/x", "..", "/", outside + "/secret", ".."} {
		for _, flags := range []int{0, unix.O_DIRECTORY, unix.O_RDWR | unix.O_CREAT} {
			if f, err := d.Open(name, flags); err == nil {
				f.Close()
				t.Errorf("%s is opened", name)
			}
		}
	}
	for what, err := range map[string]error{"drop": d.Drop("link/secret"), "unlink": d.Unlink("link/secret"), "rename": d.Rename("link/secret", "x"), "up": d.Move("dir/up/../secret", "x")} {
		if err == nil {
			t.Errorf("%s follows a link", what)
		}
	}
	if _, err := d.Stat("link/secret"); err == nil {
		t.Error("stat follows a link")
	}
	done := make(chan error)
	go func() {
		f, err := d.Open("fifo", 0)
		if err == nil {
			err = f.Close()
		}
		done <- errors.Join(err, d.Drop("fifo"))
	}()
	select {
	case err := <-done:
		must.Do(t, err)
	case <-time.After(5 * time.Second):
		t.Fatal("it waits for a writer")
	}
	for _, name := range []string{"link", "file", "dir", "link"} {
		must.Do(t, d.Drop(name))
	}
	if _, err := os.Stat(outside + "/secret"); err != nil {
		t.Error(err)
	}
}

// TestOddNames: names may have any bytes.
func TestOddNames(t *testing.T) {
	d := open(t)
	odd := []string{"\x01", "a\nb", "\x1b[2J", "\xff", strings.Repeat("n", 255)}
	for _, name := range odd {
		must.Do(t, errors.Join(os.Mkdir(d.Path()+"/"+name, 0o700), os.Mkdir(d.Path()+"/"+name+"/deep", 0)))
	}
	slices.Sort(odd)
	if names := must.Get(d.Names(every))(t); !slices.Equal(names, odd) {
		t.Errorf("%q", names)
	}
	if removed, busy, err := d.Sweep(every); err != nil || busy != 0 || !slices.Equal(removed, odd) {
		t.Errorf("%q, %d, %v", removed, busy, err)
	}
}

// TestMoved: what is done to a store is done to the directory that was opened.
func TestMoved(t *testing.T) {
	d := open(t)
	at, other := d.Path(), t.TempDir()
	must.Do(t, errors.Join(os.Mkdir(other+"/x", 0o700), os.Rename(at, at+".old"), os.Symlink(other, at), os.Mkdir(at+".old/x", 0o700)))
	must.Do(t, d.Evict("x", ""))
	if _, err := os.Stat(other + "/x"); err != nil {
		t.Error(err)
	}
	if names := must.Get(d.Names(every))(t); len(names) > 0 {
		t.Errorf("left: %q", names)
	}
}

// TestHold: one process holds a name, as long as it is of the same file.
func TestHold(t *testing.T) {
	d := open(t)
	at := d.Path()
	const alone = unix.LOCK_EX | unix.LOCK_NB
	must.Do(t, os.Mkdir(at+"/x", 0o700))
	held := must.Get(d.Hold("x", unix.O_DIRECTORY, alone))(t)
	if _, err := d.Hold("x", unix.O_DIRECTORY, alone); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	if _, err := Hold(at+"/x", unix.O_DIRECTORY, unix.LOCK_SH|unix.LOCK_NB); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	if err := d.Evict("x", "y"); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	must.Do(t, held.Close())
	for what, change := range map[string]func() error{
		"removed":  func() error { return os.Remove(at + "/x") },
		"replaced": func() error { return errors.Join(os.Mkdir(at+"/new", 0o700), unix.Rename(at+"/new", at+"/x")) },
	} {
		_ = os.Mkdir(at+"/x", 0o700)
		f := must.Get(d.Open("x", unix.O_DIRECTORY))(t)
		must.Do(t, change())
		if err := d.At(func(dir int) error { return take(f, dir, "x", alone) }); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", what, err)
		}
		f.Close()
	}
	must.Do(t, errors.Join(os.RemoveAll(at+"/x"), os.WriteFile(at+"/x", nil, 0o600)))
	if err := d.Evict("x", ""); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("a file: %v", err)
	}
	made := must.Get(d.Hold("lock", unix.O_RDWR|unix.O_CREAT, unix.LOCK_EX))(t)
	if st := must.Get(made.Stat())(t); st.Mode() != 0o600 {
		t.Error(st.Mode())
	}
	made.Close()
}
