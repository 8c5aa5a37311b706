package owned

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

func TestMain(m *testing.M) { os.Exit(asuser.Main(m)) }

// folder returns a new directory and its descriptor.
func folder(t *testing.T) (string, int) {
	t.Helper()
	dir := t.TempDir()
	fd := must.Get(unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))(t)
	t.Cleanup(func() { unix.Close(fd) })
	return dir, fd
}

// A FIFO that has taken the place of a file is not waited for.
func TestOpenDoesNotWait(t *testing.T) {
	dir, fd := folder(t)
	must.Do(t, unix.Mkfifo(dir+"/f", 0o600))
	opened := make(chan error)
	go func() {
		f, _, err := Open(fd, "f", 0, 0o400)
		if err == nil {
			err = unix.Close(f)
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		must.Do(t, err)
	case <-time.After(5 * time.Second):
		t.Fatal("it waits for a writer")
	}
}

// A file or directory that its owner cannot read is opened, has the bits meanwhile, and then its own mode again.
func TestOpenTakesBack(t *testing.T) {
	dir, fd := folder(t)
	mode := func(name string) os.FileMode {
		t.Helper()
		st := must.Get(os.Stat(dir + "/" + name))(t)
		return st.Mode().Perm()
	}
	must.Do(t, os.WriteFile(dir+"/file", []byte("x"), 0o600))
	must.Do(t, os.Mkdir(dir+"/dir", 0o700))
	for name, flags := range map[string]int{"file": 0, "dir": unix.O_DIRECTORY} {
		must.Do(t, os.Chmod(dir+"/"+name, 0o022))
		f, restore, err := Open(fd, name, flags, 0o500)
		must.Do(t, err)
		if now := mode(name); os.Geteuid() != 0 && now != 0o522 { // root needs no bits
			t.Errorf("%s is %o meanwhile", name, now)
		}
		must.Do(t, restore())
		if now := mode(name); now != 0o022 {
			t.Errorf("%s is %o", name, now)
		}
		unix.Close(f)
	}
	if f, _, err := Open(fd, "file", unix.O_DIRECTORY, 0o500); err == nil {
		unix.Close(f)
		t.Error("a file is a directory")
	}
	if now := mode("file"); now != 0o022 {
		t.Errorf("after an error it is %o", now)
	}
}

// Lend changes an open directory until its mode is given back.
func TestLend(t *testing.T) {
	dir, fd := folder(t)
	must.Do(t, os.Chmod(dir, 0o077))
	restore := must.Get(Lend(fd, 0o700))(t)
	st := must.Get(os.Stat(dir))(t)
	must.Do(t, restore())
	after := must.Get(os.Stat(dir))(t)
	if st.Mode().Perm() != 0o777 || after.Mode().Perm() != 0o077 {
		t.Error(st.Mode(), after.Mode())
	}
	must.Do(t, os.Chmod(dir, 0o700)) // for the removal
}

// Remove leaves nothing of a deep tree that its owner may not enter, and what it leads to alone.
func TestRemove(t *testing.T) {
	dir, fd := folder(t)
	outside := t.TempDir()
	must.Do(t, os.WriteFile(outside+"/f", nil, 0o600))
	path := dir + "/top"
	for range 300 {
		must.Do(t, os.Mkdir(path, 0o700))
		must.Do(t, os.Symlink(outside, path+"/link"))
		must.Do(t, os.WriteFile(path+"/.rm-1", nil, 0o600)) // the name of a directory that is moved
		path += "/d"
	}
	for ; path != dir; path = path[:len(path)-2] {
		if len(path) < len(dir+"/top") {
			break
		}
		_ = os.Chmod(path, 0o000) // the last one does not exist
	}
	must.Do(t, Remove(fd, "top"))
	must.Do(t, Remove(fd, "top"))
	if names, err := Names(fd); err != nil || len(names) > 0 {
		t.Error(names, err)
	}
	if _, err := os.Stat(outside + "/f"); err != nil {
		t.Error(err)
	}
}
