package host

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// looks returns a looker for a Spec on a machine without anything that is missing, as the caller of the test.
func looks(t *testing.T, s *spec.Spec) *looker {
	t.Helper()
	h := newHost()
	h.PayloadUID, h.PayloadGID = h.UID, h.GID
	t.Cleanup(func() { must.Do(t, h.Close()) })
	return &looker{Host: h, spec: s}
}

func bind(source, target string, writable bool) spec.Mount {
	return spec.Mount{Type: spec.MountBind, Source: source, Target: target, Writable: writable}
}

// opOf returns what an error is about and its errno.
func opOf(err error) (op string, errno error) {
	var e *spec.Error
	if !errors.As(err, &e) {
		return "", nil
	}
	if e.Errno != 0 {
		errno = e.Errno
	}
	return e.Op, errno
}

// A source is a directory or a file, which stays open; a socket, a device and a path that leads nowhere are refused by
// the field that names them.
func TestOpenSources(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	must.Do(t, errors.Join(os.WriteFile(dir+"/file", []byte("x"), 0o640), os.Mkdir(dir+"/sub", 0o755), os.Symlink("sub", dir+"/link"), unix.Mkfifo(dir+"/fifo", 0o600)))
	socket := must.Get(net.Listen("unix", dir+"/socket"))(t)
	defer socket.Close()
	for name, c := range map[string]struct {
		dir, refused bool
		errno        error
	}{
		"sub": {dir: true}, "link": {dir: true}, "file": {}, "socket": {refused: true}, "fifo": {refused: true},
		"nowhere": {refused: true, errno: unix.ENOENT}, "file/x": {refused: true, errno: unix.ENOTDIR},
	} {
		l := looks(t, &spec.Spec{})
		src, err := l.open(SourceOf(0), filepath.Join(dir, name))
		if op, errno := opOf(err); (err != nil) != c.refused || c.refused && (op != "mounts[0].source" || errno != c.errno) {
			t.Errorf("%s: %v", name, err)
		}
		if !c.refused && (src.Dir != c.dir || src.Fd < 0 || src.Ino == 0 || l.Sources.Of(0) != src) {
			t.Errorf("%s: %+v", name, src)
		}
	}
}

// A file that the caller holds is not looked up again, although its path leads to another one by now.
func TestHeldSources(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, errors.Join(os.Mkdir(dir+"/was", 0o755), os.Mkdir(dir+"/is", 0o755)))
	f := must.Get(os.Open(dir + "/was"))(t)
	defer f.Close()
	must.Do(t, errors.Join(os.Rename(dir+"/was", dir+"/gone"), os.Rename(dir+"/is", dir+"/was")))
	l := looks(t, &spec.Spec{})
	m := bind(dir+"/was", "/d", false)
	m.Held = &spec.Held{File: f, Name: "d"}
	src := must.Get(l.openMount(SourceOf(0), m))(t)
	var gone unix.Stat_t
	if err := unix.Stat(dir+"/gone", &gone); err != nil || src.Ino != gone.Ino || !src.Dir {
		t.Errorf("%+v, %v", src, err)
	}
}

// A small file behind a read-only bind is shown as a copy: all copies together are bounded.
func TestCopyBound(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"small": 10, "half": MaxBoundCopy, "large": MaxBoundCopy + 1} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o644))
	}
	l := looks(t, &spec.Spec{})
	copies := func(mount int, path string) bool {
		src := must.Get(l.open(SourceOf(mount), path))(t)
		must.Do(t, l.copyBound(src))
		return src.Copied
	}
	for i, c := range []struct {
		name string
		want bool
	}{{"small", true}, {"large", false}, {"half", true}, {"half", false}} { // the last is one too many
		if got := copies(i, filepath.Join(dir, c.name)); got != c.want {
			t.Errorf("%d, %s: %v", i, c.name, got)
		}
	}
	if copies(9, "/proc/self/status") {
		t.Error("a file of procfs is copied")
	}
}

// A file of the Spec's is read once, if it is a regular one of a size that a program can carry.
func TestCopyFile(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, errors.Join(os.WriteFile(dir+"/f", []byte("content"), 0o600), unix.Mkfifo(dir+"/fifo", 0o600), os.WriteFile(dir+"/big", make([]byte, spec.MaxFileCopy+1), 0o600)))
	l := looks(t, &spec.Spec{})
	must.Do(t, l.copyFile(SourceOf(0), dir+"/f"))
	if src := l.Sources.Of(0); src.Content != "content" || src.Fd != -1 || !src.Stays {
		t.Errorf("%+v", src)
	}
	for _, name := range []string{"fifo", "big", "nowhere", "."} {
		if err := l.copyFile(SourceOf(0), filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

// What is shared live must hold no FIFO and no socket of a process; a socket that no process has open is allowed.
func TestChannels(t *testing.T) {
	live := func(m *spec.Mount) { m.Live = true }
	for name, c := range map[string]struct {
		put    func(t *testing.T, dir string)
		change func(*spec.Mount)
		option string
		want   string // of the error, "" for none
	}{
		"a FIFO":            {func(t *testing.T, dir string) { must.Do(t, unix.Mkfifo(dir+"/p", 0o666)) }, nil, "", "FIFO"},
		"a FIFO, live":      {func(t *testing.T, dir string) { must.Do(t, unix.Mkfifo(dir+"/p", 0o666)) }, live, "", "FIFO"},
		"a FIFO, permitted": {func(t *testing.T, dir string) { must.Do(t, unix.Mkfifo(dir+"/p", 0o666)) }, nil, "sockets", ""},
		"a live socket": {func(t *testing.T, dir string) {
			l := must.Get(net.Listen("unix", dir+"/s"))(t)
			t.Cleanup(func() { l.Close() })
		}, nil, "", "socket of a running process"},
		"a socket of nobody": {func(t *testing.T, dir string) { dead(t, dir+"/s") }, nil, "", ""},
		"files":              {func(t *testing.T, dir string) { must.Do(t, os.WriteFile(dir+"/f", nil, 0o600)) }, nil, "", ""},
		"below a directory": {func(t *testing.T, dir string) {
			must.Do(t, errors.Join(os.Mkdir(dir+"/d", 0o755), unix.Mkfifo(dir+"/d/p", 0o666)))
		}, nil, "", "FIFO"},
		"below a directory that is shown as a copy": {func(t *testing.T, dir string) {
			must.Do(t, errors.Join(os.MkdirAll(dir+"/copy/d", 0o755), unix.Mkfifo(dir+"/copy/d/p", 0o666)))
		}, nil, "", ""},
		"beside such a directory": {func(t *testing.T, dir string) {
			must.Do(t, errors.Join(os.MkdirAll(dir+"/d/copy", 0o755), unix.Mkfifo(dir+"/d/copy/p", 0o666)))
		}, nil, "", "FIFO"},
	} {
		dir := t.TempDir()
		c.put(t, dir)
		m := bind(dir, "/w", c.change == nil)
		if c.change != nil {
			c.change(&m)
		}
		s := &spec.Spec{Mounts: []spec.Mount{m, {Type: spec.MountCOW, Source: dir + "/copy", Target: "/w/copy"}}}
		if c.option != "" {
			s.Optional = []string{c.option}
		}
		l := looks(t, s)
		src := must.Get(l.openMount(SourceOf(0), m))(t)
		err := l.channels(SourceOf(0), m, src)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// dead leaves a socket that no process has any more.
func dead(t *testing.T, path string) {
	t.Helper()
	fd := must.Get(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	must.Do(t, errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Close(fd)))
}

// A read-only bind inside a writable one must not have a second name there.
func TestHardLinks(t *testing.T) {
	for name, c := range map[string]struct {
		link string // of in/f
		want bool
	}{"no link": {"", false}, "beside it": {"g", true}, "in the same": {"in/g", false}, "in a directory": {"d/g", true}} {
		dir := t.TempDir()
		must.Do(t, errors.Join(os.Mkdir(dir+"/in", 0o755), os.Mkdir(dir+"/d", 0o755), os.WriteFile(dir+"/in/f", nil, 0o600)))
		if c.link != "" {
			must.Do(t, os.Link(dir+"/in/f", filepath.Join(dir, c.link)))
		}
		s := &spec.Spec{Mounts: []spec.Mount{bind(dir, "/w", true), bind(dir+"/in", "/w/in", false)}}
		l := looks(t, s)
		for i, m := range s.Mounts {
			must.Get(l.openMount(SourceOf(i), m))(t)
		}
		if err := l.hardLinks(); (err != nil) != c.want || err != nil && !strings.Contains(err.Error(), "a hard link") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The payload of a root that cannot map ids is the owner of a writable bind, never root.
func TestLookOwner(t *testing.T) {
	for name, c := range map[string]struct {
		drop     bool
		missing  spec.Text
		uid, gid int
		writable bool
		owner    [3]int // Owner, PayloadUID, PayloadGID
	}{
		"a user":             {false, "", 5, 6, true, [3]int{0, 1, 1}},
		"root with mappings": {true, "", 5, 6, true, [3]int{0, 1, 1}},
		"root without":       {true, "no", 5, 6, true, [3]int{5, 5, 6}},
		"of the group root":  {true, "no", 5, 0, true, [3]int{5, 5, 5}},
		"root's own":         {true, "no", 0, 0, true, [3]int{0, 1, 1}},
		"read-only":          {true, "no", 5, 6, false, [3]int{0, 1, 1}},
	} {
		l := looks(t, &spec.Spec{Mounts: []spec.Mount{bind("/d", "/w", c.writable)}})
		l.Drop, l.PayloadUID, l.PayloadGID = c.drop, 1, 1
		if c.missing != "" {
			l.Missing["idmap"] = c.missing
		}
		l.Sources.Put(SourceOf(0), &Source{Path: "/d", UID: c.uid, GID: c.gid, Fd: -1})
		must.Do(t, l.lookOwner())
		if got := [3]int{l.Owner, l.PayloadUID, l.PayloadGID}; got != c.owner {
			t.Errorf("%s: %v, want %v", name, got, c.owner)
		}
	}
}

func TestPermits(t *testing.T) {
	s := &Source{UID: 5, GID: 6, Mode: 0o754}
	for want, id := range map[uint32][2]int{7: {5, 6}, 5: {9, 6}, 4: {9, 9}} {
		if got := s.Permits(id[0], id[1]); got != want {
			t.Errorf("%v: %o, want %o", id, got, want)
		}
	}
}

// Changes on disk must not be kept in what they change.
func TestContains(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.MkdirAll(dir+"/a/b", 0o755))
	for name, c := range map[string]struct {
		source, store string
		want          bool
	}{"below": {"/a", "/a/b", true}, "the same": {"/a", "/a", true}, "above": {"/a/b", "/a", false}} {
		l := looks(t, &spec.Spec{})
		src := must.Get(l.open(SourceOf(0), dir+c.source))(t)
		fd := must.Get(unix.Open(dir+c.store, unix.O_PATH|unix.O_CLOEXEC, 0))(t)
		must.Do(t, errors.Join(src.contains(fd), unix.Close(fd)))
		if (src.NoUpper != "") != c.want {
			t.Errorf("%s: %q", name, src.NoUpper)
		}
	}
}
