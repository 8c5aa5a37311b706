package host

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// TestSilent: the error names what does not answer as the caller calls it, with the file system's type and the command
// that helps.
func TestSilent(t *testing.T) {
	ended, end := context.WithCancel(context.Background())
	end()
	const remedy = "; start the server of this file system again, or unmount it: umount -l, or fusermount -u"
	nfs := &MountLine{Point: "/srv/data/nfs", Fstype: "nfs4"}
	for name, c := range map[string]struct {
		r            remote
		source, real string
		m            *MountLine
		want         string
	}{
		"the source":            {remote{}, "/link", "/srv/data/nfs", nfs, `"/link" (nfs4) does not answer`},
		"a mount below it":      {remote{}, "data", "/srv/data", nfs, `"data/nfs" (nfs4) does not answer`},
		"below it, by a link":   {remote{}, "/link/", "/srv", nfs, `"/link/data/nfs" (nfs4) does not answer`},
		"a mount above it":      {remote{}, "/srv/data/nfs/a", "/srv/data/nfs/a", nfs, `"/srv/data/nfs" (nfs4) does not answer`},
		"the root":              {remote{}, "/", "/", nfs, `"/srv/data/nfs" (nfs4) does not answer`},
		"not known which":       {remote{}, "/a\nb", "/a\nb", nil, `"/a\nb" does not answer`},
		"a name that is quoted": {remote{}, "/x", "/x", &MountLine{Point: `/x/a\012b`, Fstype: "fuse.x"}, `"/x/a\nb" (fuse.x) does not answer`},
		"the jail's time ended": {remote{ctx: ended}, "/x", "/x", nil, `"/x" does not answer`},
	} {
		err := c.r.silent(SourceOf(1), c.source, c.real, c.m, errSilent)
		e, ok := errors.AsType[*spec.Error](err)
		if !ok || e.Error() != "mounts[1].source: "+c.want+remedy || e.Fault != spec.FaultHost || errors.Is(err, context.Canceled) != (c.r.ctx != nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAwait: a process is waited for until it ends, the context does, or the jail's time is over.
func TestAwait(t *testing.T) {
	start := func(command string) (pidfd int, kill func()) {
		cmd := exec.Command("sh", "-c", command)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
		must.Do(t, cmd.Start())
		fd := must.Get(unix.PidfdOpen(cmd.Process.Pid, 0))(t)
		return fd, func() { _, _, _ = unix.Close(fd), cmd.Process.Kill(), cmd.Wait() }
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	for name, c := range map[string]struct {
		command string
		r       remote
		err     error
	}{
		"it ends":               {"exit 3", remote{}, nil},
		"the context has ended": {"exec sleep 60", remote{ctx: ctx}, errSilent},
		"the time is over":      {"exec sleep 60", remote{ctx: context.Background(), until: time.Now()}, errSilent},
	} {
		fd, kill := start(c.command)
		if err := c.r.await(fd); err != c.err {
			t.Errorf("%s: %v", name, err)
		}
		kill()
	}
	if err := (&remote{until: time.Now()}).await(-2); err != errSilent { // poll(2) passes over it
		t.Error(err)
	}
}

// TestAsk: an answer is one whether the path exists or not; what was asked and is silent is not asked a second time.
func TestAsk(t *testing.T) {
	dir := t.TempDir()
	r := &remote{}
	for _, name := range []string{"", "/gone", "/gone/further", "/\n"} {
		if err := r.ask(dir + name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	cmd := exec.Command("sleep", "60")
	must.Do(t, cmd.Start())
	leave(dir, cmd.Process.Pid) // kills it
	for deadline := time.Now().Add(10 * time.Second); ; {
		asked.Lock()
		waits := asked.paths[dir]
		asked.Unlock()
		if !waits {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the probe is waited for")
		}
		time.Sleep(time.Millisecond)
	}
	asked.Lock()
	asked.paths[dir] = true
	asked.Unlock()
	if err := r.ask(dir); err != errSilent {
		t.Errorf("a probe is on its way: %v", err)
	}
	asked.Lock()
	delete(asked.paths, dir)
	asked.Unlock()
	if err := r.ask(dir); err != nil {
		t.Error(err)
	}
}

// TestOnTheWay: the remote mount on the way of a path is the nearest one above it.
func TestOnTheWay(t *testing.T) {
	r := &remote{mounts: []MountLine{{Point: "/n", Fstype: "nfs"}, {Point: `/n/a\040b`, Fstype: "fuse"}, {Point: "/m", Fstype: "9p"}}}
	for path, want := range map[string]string{"/n/x": "nfs", "/n": "nfs", "/n/a b/c": "fuse", "/m": "9p", "/nx": ""} {
		m := r.onTheWay(path)
		if (m == nil) != (want == "") || m != nil && m.Fstype != want {
			t.Errorf("%s: %+v, want %q", path, m, want)
		}
	}
}

// TestAnswers: only the mount of the source is asked, and those below it where they are looked into.
func TestAnswers(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Mkdir(dir+"/below", 0o755))
	fd := must.Get(unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0))(t)
	defer unix.Close(fd)
	silent := func(path string, is bool) {
		asked.Lock()
		defer asked.Unlock()
		if asked.paths == nil {
			asked.paths = map[string]bool{}
		}
		if asked.paths[path] = true; !is {
			delete(asked.paths, path)
		}
	}
	silent(dir+"/below", true)
	defer silent(dir+"/below", false)
	mounts := []MountLine{{id: "no", Point: dir + "/below", Fstype: "fuse.x"}, {id: "no", Point: "/elsewhere", Fstype: "nfs"}}
	for name, c := range map[string]struct {
		r    remote
		fd   int
		want string
	}{
		"no remote mounts": {remote{below: true}, -1, ""},
		"one below":        {remote{mounts: mounts, below: true}, fd, `does not answer`},
		"not looked into":  {remote{mounts: mounts}, fd, ""},
		"another's":        {remote{mounts: mounts[1:], below: true}, fd, ""},
		"no descriptor":    {remote{mounts: mounts}, -1, "bad file descriptor; check the file system"},
	} {
		err := c.r.answers(SourceOf(0), "dir", c.fd)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestOpenPath: what a silent file system has is not opened, and not copied; what the kernel has in memory is.
func TestOpenPath(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	grow(t, dir, "there", "gone")
	must.Do(t, os.Remove(dir+"/gone"))
	asked.Lock()
	if asked.paths == nil {
		asked.paths = map[string]bool{}
	}
	asked.paths[dir+"/gone"] = true
	asked.Unlock()
	defer func() {
		asked.Lock()
		delete(asked.paths, dir+"/gone")
		asked.Unlock()
	}()
	l := looks(t, &spec.Spec{})
	l.remote.mounts = []MountLine{{id: "no", Point: dir, Fstype: "fuse.x"}}
	src := must.Get(l.open(SourceOf(0), dir+"/there"))(t)
	if src.Dir || src.Fd < 0 {
		t.Errorf("%+v", src)
	}
	want := at(dir, `"$" (fuse.x) does not answer; start the server of this file system again, or unmount it: umount -l, or fusermount -u`)
	if _, err := l.open(SourceOf(1), dir+"/gone"); err == nil || err.Error() != "mounts[1].source: "+want {
		t.Error(err)
	}
	if err := l.copyFile(SourceOf(2), dir+"/gone"); err == nil || err.Error() != "mounts[2].source: "+want {
		t.Error(err)
	}
	if must.Do(t, l.copyFile(SourceOf(3), dir+"/there")); l.Sources.Of(3).Content != "there" {
		t.Errorf("%+v", l.Sources.Of(3))
	}
}

// TestAnswer: on a machine without silent file systems every writable source answers, and what is wrong with one Look
// reports.
func TestAnswer(t *testing.T) {
	s := &spec.Spec{Mounts: []spec.Mount{bind(t.TempDir(), "/a", true), bind("/gone", "/b", true), bind("/gone", "/c", false), {Type: spec.MountVolume, Target: "/v", Writable: true}}}
	if err := Answer(context.Background(), time.Time{}, s); err != nil {
		t.Error(err)
	}
}
