package nsjail

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/must"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// shared makes a directory that belongs to an owner and holds the file "have".
func shared(t *testing.T, owner int) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "have")
	must.Do(t, os.WriteFile(file, []byte("host\n"), 0o644))
	if os.Geteuid() == 0 {
		for _, p := range []string{dir, file} {
			must.Do(t, os.Chown(p, owner, owner))
		}
	}
	return dir
}

// TestOwnership: what a payload writes belongs to the directory's owner, whoever calls and whoever the payload is.
func TestOwnership(t *testing.T) {
	for _, owner := range []int{0, 1234, 65534} {
		for _, user := range []string{"", "0", "7:8"} {
			dir := shared(t, owner)
			c := shell("cat /work/have /input/have; echo more >>/work/have; mkdir -p d/e && echo x >d/e/f && ln -s f d/e/l && ln d/e/f d/e/h && chmod 750 d; stat -c %u:%g have")
			c.Spec.User = user
			c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/work", Writable: true}, {Type: spec.MountBind, Source: dir, Target: "/input"}}
			want := map[string]string{"": "1000:1000", "0": "0:0", "7:8": "7:8"}[user]
			wantOutput(t, c, "host\nhost\n"+want)
			if os.Geteuid() != 0 {
				owner = os.Geteuid()
			}
			for _, p := range []string{"have", "d", "d/e/f", "d/e/l"} {
				var st unix.Stat_t
				if err := unix.Lstat(filepath.Join(dir, p), &st); err != nil || int(st.Uid) != owner || int(st.Gid) != owner {
					t.Errorf("user %q, owner %d: %s belongs to %d:%d, %v", user, owner, p, st.Uid, st.Gid, err)
				}
			}
		}
	}
}

// TestBindFile binds a single file, writable and not.
func TestBindFile(t *testing.T) {
	file := filepath.Join(shared(t, 1234), "have")
	c := shell("echo more >>/work/have && cat /work/have; echo no 2>/dev/null >>/ro || echo refused")
	c.Spec.Mounts = []spec.Mount{{Type: spec.MountTmpfs, Target: "/work"}, {Type: spec.MountBind, Source: file, Target: "/work/have", Writable: true},
		{Type: spec.MountBind, Source: file, Target: "/ro"}}
	out, _ := mustRun(t, c)
	if !strings.HasPrefix(out, "host\nmore\n") || !strings.HasSuffix(out, "refused\n") {
		t.Errorf("%q", out)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "host\nmore\n" {
		t.Errorf("the host's file holds %q, %v", b, err)
	}
}

func TestReadOnly(t *testing.T) {
	dir := shared(t, 0)
	must.Do(t, os.Chmod(dir, 0o777))
	for _, live := range []bool{false, true} {
		c := shell(`cd /input; for x in 'echo x >have' 'echo x >new' 'rm have' 'mkdir d' 'chmod 777 have' 'touch have' 'mv have x'; do
sh -c "$x" 2>/dev/null && echo "$x"; done; echo x 2>/dev/null >/usr/x && echo usr; echo x 2>/dev/null >/etc/passwd && echo etc; cat have`)
		c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/input", Live: live}}
		wantOutput(t, c, "host")
	}
}

func TestSmallMounts(t *testing.T) {
	dir := shared(t, 0)
	c := shell(`cat /a/b/c/file; stat -c %a /a/b/c/file /d/e; readlink /l; cat /l2/have; echo x 2>/dev/null >/d/e/x || echo ro; ls -A /d/e | wc -l`)
	c.Spec.Mounts = []spec.Mount{
		{Type: spec.MountFile, Source: filepath.Join(dir, "have"), Target: "/a/b/c/file", Mode: "640"},
		{Type: spec.MountDir, Target: "/d/e", Mode: "750"},
		{Type: spec.MountSymlink, Source: "../../..//nowhere", Target: "/l"},
		{Type: spec.MountBind, Source: dir, Target: "/deep/in/side"},
		{Type: spec.MountSymlink, Source: "/deep/in/side", Target: "/l2"},
	}
	wantOutput(t, c, "host\n640\n750\n../../..//nowhere\nhost\nro\n0")
}

// TestLiveAndPrivate: a live bind shows the host's changes, and one way only.
func TestWritableIsLive(t *testing.T) {
	dir := shared(t, 0)
	fifo := filepath.Join(dir, "go")
	must.Do(t, unix.Mkfifo(fifo, 0o666))
	must.Do(t, os.Chmod(fifo, 0o666))
	c := shell("cat go >/dev/null; cat late")
	c.Spec.Optional = []string{"sockets"} // the FIFO
	c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/work", Writable: true}}
	var out strings.Builder
	c.Stdout = &out
	must.Do(t, c.Start())
	if err := os.WriteFile(filepath.Join(dir, "late"), []byte("late\n"), 0o644); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(fifo, []byte("x"), 0); err != nil {
		t.Error(err)
	}
	if r, err := c.Wait(); err != nil || r.Status != StatusOK || out.String() != "late\n" {
		t.Errorf("%+v, %v, %q", r, err, out.String())
	}
}

func TestBadSources(t *testing.T) {
	dir := t.TempDir()
	sock, fifo := filepath.Join(dir, "sock"), filepath.Join(dir, "fifo")
	fd := must.Get(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	defer unix.Close(fd)
	must.Do(t, unix.Bind(fd, &unix.SockaddrUnix{Name: sock}))
	must.Do(t, unix.Mkfifo(fifo, 0o600))
	big := filepath.Join(dir, "big")
	must.Do(t, os.WriteFile(big, make([]byte, spec.MaxFileCopy+1), 0o600))
	for _, c := range []struct {
		kind     spec.MountType
		source   string
		writable bool
		errno    syscall.Errno
		says     string
	}{
		{spec.MountBind, filepath.Join(dir, "not\x1b[31m\nthere"), false, unix.ENOENT, `\x1b`}, {spec.MountBind, sock, false, 0, "is a socket"},
		{spec.MountBind, fifo, false, 0, "neither"}, {spec.MountBind, "/dev/null", false, 0, "neither"}, {spec.MountBind, dir, true, 0, "holds a "},
		{spec.MountFile, fifo, false, 0, "not a regular file"}, {spec.MountFile, dir, false, 0, "not a regular file"}, {spec.MountFile, big, false, 0, "larger"},
		{spec.MountFile, sock, false, unix.ENXIO, ""}, {spec.MountBind, big + "/x", false, unix.ENOTDIR, ""},
	} {
		cmd := shell("true")
		cmd.Spec.Mounts = []spec.Mount{{Type: c.kind, Source: c.source, Target: "/input", Writable: c.writable}}
		e := startError(t, cmd)
		if e.Fault != spec.FaultCaller || e.Errno != c.errno || !strings.Contains(e.Error(), c.says) || e.Remedy == "" {
			t.Errorf("%s %q: %v (%d), want errno %d and %q", c.kind, c.source, e, e.Errno, c.errno, c.says)
		}
	}
}

// TestSocketBehindTheOverlay: a socket in a read-only directory cannot be connected to.
func TestSocketBehindTheOverlay(t *testing.T) {
	needs(t, "python3")
	dir := t.TempDir()
	fd := must.Get(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	defer unix.Close(fd)
	must.Do(t, unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(dir, "s")}))
	must.Do(t, unix.Listen(fd, 1))
	must.Do(t, os.Chmod(filepath.Join(dir, "s"), 0o777))
	c := shell(`python3 -c '
import socket
try: socket.socket(socket.AF_UNIX).connect("/input/s"); print("connected")
except OSError as e: print("refused")'`)
	c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/input"}}
	wantOutput(t, c, "refused")
}

// What a jail takes from the host's /etc for itself does not get in the way of what the caller shares from there: a
// file, a directory, a link to one, and the whole of the host's tree.
func TestBindFromEtc(t *testing.T) {
	dir := "/etc/alternatives"
	if _, err := os.Stat(dir); err != nil {
		t.Skip(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	must.Do(t, os.Symlink(dir, link))
	want := must.Get(os.ReadFile("/etc/hosts"))(t)
	cold := shell("cat /f; ls /d >/tmp/d; ls /l | cmp - /tmp/d && cat /host/etc/hosts; ls -d /host/sys/kernel")
	cold.Spec.Optional = []string{"sockets", "idmap"} // a tmpfs as the root has no idmapped mounts before Linux 6.3
	cold.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: "/etc/hosts", Target: "/f"}, {Type: spec.MountBind, Source: dir, Target: "/d", Live: true},
		{Type: spec.MountBind, Source: link, Target: "/l"}, {Type: spec.MountBind, Source: "/", Target: "/host"}}
	text := string(want) + string(want) + "/host/sys/kernel"
	r := runnerWith(t, RunnerOptions{})
	for range 2 { // the second one begins with a template
		wantOutput(t, r.CommandSpec(t.Context(), cold.Spec), text)
	}
	wantOutput(t, cold, text)
}

// A socket in a writable directory keeps a jail away as long as a process has it, of whatever type it is; what a dead
// process has left does not.
func TestDeadSockets(t *testing.T) {
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET} {
		dir := t.TempDir()
		fd := must.Get(unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0))(t)
		must.Do(t, unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(dir, "s")}))
		c := func() *Cmd {
			c := shell("rm s && echo removed")
			c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/work", Writable: true}}
			return c
		}
		if e := startError(t, c()); !strings.Contains(e.Error(), `holds a socket of a running process, "s"`) {
			t.Errorf("type %d: %v", kind, e)
		}
		unix.Close(fd)
		wantOutput(t, c(), "removed")
	}
}

// What the payload cannot connect to, read or write keeps no jail away. TestOthersSockets of cmd/brig
// has an ordinary caller.
func TestOthersSockets(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("for root, who can make another user's")
	}
	for _, c := range []struct {
		uid  int
		mode uint32
		ok   bool
	}{{4321, 0o600, true}, {0, 0o700, true}, {1234, 0o600, false}, {1234, 0, false}, {4321, 0o666, false}, {4321, 0o620, false}} {
		dir := t.TempDir()
		must.Do(t, os.Chown(dir, 1234, 1235))
		fd := must.Get(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
		must.Do(t, unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(dir, "s")}))
		must.Do(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
		must.Do(t, os.Chown(filepath.Join(dir, "fifo"), 4321, 4321))
		must.Do(t, os.Chown(filepath.Join(dir, "s"), c.uid, 4321))
		must.Do(t, unix.Chmod(filepath.Join(dir, "s"), c.mode))
		cmd := shell("test ! -w s && test ! -r fifo && test ! -w fifo && echo closed")
		cmd.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/work", Writable: true}}
		if c.ok {
			wantOutput(t, cmd, "closed")
		} else if e := startError(t, cmd); !strings.Contains(e.Error(), `holds a socket of a running process, "s"`) {
			t.Errorf("uid %d, mode %o: %v", c.uid, c.mode, e)
		}
		unix.Close(fd)
	}
}

// A small file behind a read-only bind is a copy, with its x permission; a large one is the host's own, and a note in
// the plan tells it.
func TestBoundCopies(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"script": 0, "large": host.MaxBoundCopy + 1} {
		if err := os.WriteFile(filepath.Join(dir, name), append([]byte("#!/bin/sh\necho ran\n"), make([]byte, size)...), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, live := range map[string]bool{"script": false, "large": true} {
		c := shell("stat -c %d /f >/tmp/f; stat -c %d /tmp >/tmp/t; cmp -s /tmp/f /tmp/t && echo copied; test -x /f && echo x")
		c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: filepath.Join(dir, name), Target: "/f"}}
		out, _ := mustRun(t, c)
		if want := map[bool]string{false: "copied\nx\n", true: "x\n"}[live]; out != want {
			t.Errorf("%s: %q, want %q", name, out, want)
		}
		p := c.Plan()
		if noted := strings.Contains(words.Join(p.Notes, "\n").String(), "locks and watches (inotify(7)) cross it: it is a file of more than"); noted != live {
			t.Errorf("%s: notes %q", name, p.Notes)
		}
		c = shell("true")
		c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: filepath.Join(dir, name), Target: "/f"}}
		c.Spec.Require = []string{"overlay"}
		if _, err := c.Run(); (err != nil) != live {
			t.Errorf("%s, required: %v", name, err)
		}
	}
}
