package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"

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
	must.Do(t, err)
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
		must.Do(t, os.WriteFile(name, []byte(want), 0o600))
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
	must.Do(t, os.WriteFile(name, nil, 0o600))
	must.Do(t, os.Truncate(name, maxFile+1))
	if _, err := ReadFile(name); !errors.Is(err, unix.EFBIG) {
		t.Error(err)
	}
}

func TestOpenat2(t *testing.T) {
	dir := must.Get(unix.Open(t.TempDir(), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))(t)
	defer unix.Close(dir)
	how := unix.OpenHow{Flags: unix.O_RDWR | unix.O_CREAT | unix.O_CLOEXEC, Mode: 0o600, Resolve: unix.RESOLVE_BENEATH}
	fd := must.Get(Openat2(dir, "f", &how))(t)
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

// TestLookups: OpenBeneath follows no link, and OpenInRoot none out of the directory.
func TestLookups(t *testing.T) {
	name := t.TempDir()
	for link, text := range map[string]string{"out": "/etc/hostname", "in": "/f"} {
		must.Do(t, os.Symlink(text, filepath.Join(name, link)))
	}
	dir := must.Get(unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))(t)
	defer unix.Close(dir)
	fd := must.Get(OpenBeneath(dir, "f", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL))(t)
	unix.Close(fd)
	for path, want := range map[string][2]error{"f": {nil, nil}, "in": {unix.ELOOP, nil}, "out": {unix.ELOOP, unix.ENOENT},
		"../x": {unix.EXDEV, unix.ENOENT}, "/f": {unix.EXDEV, nil}} {
		for i, open := range []func(int, string, int) (int, error){OpenBeneath, OpenInRoot} {
			fd, err := open(dir, path, unix.O_RDONLY)
			if err != want[i] {
				t.Errorf("%s: %v, want %v", path, err, want[i])
			}
			if err == nil {
				unix.Close(fd)
			}
		}
	}
}

func TestXattrs(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	must.Do(t, err)
	defer f.Close()
	fd, value := int(f.Fd()), strings.Repeat("x", 3000)
	if err := unix.Fsetxattr(fd, "user.a", []byte(value), 0); err == unix.EOPNOTSUPP {
		t.Skip("the file system has no extended attributes")
	} else if err != nil {
		t.Fatal(err)
	}
	names, err := Xattrs(fd)
	got, verr := Xattr(fd, "user.a")
	if err != nil || verr != nil || !slices.Contains(names, "user.a") || got != value {
		t.Errorf("%q, %d bytes (%v, %v)", names, len(got), err, verr)
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
		f := must.Get(os.Open(name))(t)
		defer f.Close()
		files[i] = f
	}
	for i, want := range []error{nil, unix.EWOULDBLOCK} {
		if err := Flock(files[i], unix.LOCK_EX|unix.LOCK_NB); err != want {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func TestNumbers(t *testing.T) {
	f, err := os.Open(os.DevNull)
	must.Do(t, err)
	defer f.Close()
	list, err := Numbers("/proc/self/fd")
	if err != nil || !slices.Contains(list, int(f.Fd())) {
		t.Errorf("%v without %d, %v", list, f.Fd(), err)
	}
	if list, err := Numbers("/nowhere"); err == nil {
		t.Error(list)
	}
}

func TestUnder(t *testing.T) {
	for _, c := range []struct {
		path, dir string
		want      bool
	}{{"/a", "/a", true}, {"/a/b", "/a", true}, {"/ab", "/a", false}, {"/a", "/a/b", false}, {"/a", "/", true},
		{"/", "/", true}, {"/", "/a", false}} {
		if got := Under(c.path, c.dir); got != c.want {
			t.Errorf("Under(%q, %q) = %v", c.path, c.dir, got)
		}
	}
}
