package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRetry(t *testing.T) {
	calls := 0
	n, err := Retry(func() (int, error) {
		if calls++; calls < 3 {
			return -1, unix.EINTR
		}
		return calls, unix.EIO
	})
	if n != 3 || err != unix.EIO {
		t.Error(n, err)
	}
}

// Await waits for a pipe, and both return the error of what they call or of a closed file.
func TestControlAndAwait(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	buf, calls := make([]byte, 1), 0
	read := func(fd int) error {
		calls++
		_, err := unix.Read(fd, buf)
		if err == unix.EAGAIN {
			go w.Write([]byte{7})
		}
		return err
	}
	if err := Await(r, read); err != nil || calls != 2 || buf[0] != 7 {
		t.Errorf("Await: %v after %d calls", err, calls)
	}
	if err := Control(r, func(int) error { return unix.EBADF }); err != unix.EBADF {
		t.Errorf("Control: %v", err)
	}
	r.Close()
	none := func(int) error { return nil }
	if err, await := Control(r, none), Await(r, none); err == nil || await == nil {
		t.Errorf("of a closed file: %v, %v", err, await)
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	for _, size := range []int{0, 1, 4095, 4096, 4097, 300_000} {
		name := filepath.Join(dir, "f")
		want := strings.Repeat("x", size)
		if err := os.WriteFile(name, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%d bytes: read %d, %v", size, len(got), err)
		}
	}
	if got, err := ReadFile("/proc/self/mountinfo"); err != nil || len(got) == 0 {
		t.Error("a file of procfs:", err)
	}
	var pe *fs.PathError
	if _, err := ReadFile(filepath.Join(dir, "none")); !errors.As(err, &pe) || pe.Op != "open" || pe.Err != unix.ENOENT {
		t.Error(err)
	}
	if _, err := ReadFile(dir); !errors.As(err, &pe) || pe.Op != "read" || pe.Err != unix.EISDIR {
		t.Error(err)
	}
}

func TestReadFileIsBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "sparse")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, maxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(name); !errors.Is(err, unix.EFBIG) {
		t.Error(err)
	}
}

func TestOpenat2(t *testing.T) {
	dir, err := unix.Open(t.TempDir(), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	how := unix.OpenHow{Flags: unix.O_RDWR | unix.O_CREAT | unix.O_CLOEXEC, Mode: 0o600, Resolve: unix.RESOLVE_BENEATH}
	fd, err := Openat2(dir, "f", &how)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if n, err := Write(fd, []byte("abc")); n != 3 || err != nil {
		t.Error(n, err)
	}
	b := make([]byte, 4)
	if n, err := Pread(fd, b, 1); string(b[:n]) != "bc" || err != nil {
		t.Errorf("%q %v", b[:max(n, 0)], err)
	}
	if n, err := Read(fd, b); n != 0 || err != nil {
		t.Error(n, err)
	}
	if _, err := Openat2(dir, "../f", &how); err != unix.EXDEV {
		t.Error(err)
	}
}

func TestUserDir(t *testing.T) {
	for _, c := range []struct{ dir, home, want string }{
		{"/state", "/home/a", "/state"}, {"", "/home/a", "/home/a/.local/state"}, {"state", "/home/a", "/home/a/.local/state"},
		{"", "", ""}, {"state", "home", ""},
	} {
		t.Setenv("XDG_STATE_HOME", c.dir)
		t.Setenv("HOME", c.home)
		if got := UserDir("XDG_STATE_HOME", ".local/state"); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestFlock(t *testing.T) {
	name := t.TempDir()
	var files [2]*os.File
	for i := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	for i, want := range []error{nil, unix.EWOULDBLOCK} {
		if err := Flock(files[i], unix.LOCK_EX|unix.LOCK_NB); err != want {
			t.Errorf("%d: %v", i, err)
		}
	}
}
