package listen

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brig/internal/test/must"
)

// open listens at path, and closes at the end of the test.
func open(t *testing.T, o UnixOptions) *Unix {
	t.Helper()
	u := must.Get(ListenUnix(t.Context(), o))(t)
	t.Cleanup(func() { _ = u.Remove() })
	return u
}

// refused requires an error with these words.
func refused(t *testing.T, path string, words ...string) {
	t.Helper()
	u, err := ListenUnix(t.Context(), UnixOptions{Path: path})
	if err == nil {
		t.Fatalf("%s: listens: %v", path, u.Remove())
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is not in %q", w, err)
		}
	}
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "brigd.sock")
	u := open(t, UnixOptions{Path: path})
	st, err := os.Lstat(path)
	if err != nil || st.Mode() != os.ModeSocket|0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	peer := make(chan Peer, 1)
	go func() {
		if c, err := u.Accept(); err == nil {
			peer <- PeerOf(WithPeer(t.Context(), c))
		}
		close(peer)
	}()
	c := must.Get(net.Dial("unix", path))(t)
	defer c.Close()
	if p := <-peer; !p.Local || p.UID != os.Geteuid() || !p.Own() {
		t.Errorf("the peer is %+v", p)
	}
	if u.Addr().String() != path {
		t.Errorf("the address is %s", u.Addr())
	}
	refused(t, path, "another brigd", "--listen")
	if err := u.Remove(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	open(t, UnixOptions{Path: path})
}

// Of many that start at once with a stale socket, exactly one gets it.
func TestOneOfManyHoldsTheSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	stale(t, path)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var held []*Unix
	for range 20 {
		wg.Go(func() {
			if u, err := ListenUnix(context.Background(), UnixOptions{Path: path}); err == nil {
				mu.Lock()
				held = append(held, u)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(held) != 1 {
		t.Errorf("%d hold it", len(held))
	}
	for _, u := range held {
		if err := u.Remove(); err != nil {
			t.Error(err)
		}
	}
}

// stale leaves a socket at which nobody answers.
func stale(t *testing.T, path string) {
	t.Helper()
	l := must.Get(net.Listen("unix", path))(t)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	must.Do(t, l.Close())
}

func TestWhatIsInTheWayStays(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	l := must.Get(net.Listen("unix", in("answers")))(t)
	defer l.Close()
	refused(t, in("answers"), "somebody answers")
	must.Do(t, os.WriteFile(in("file"), []byte("precious"), 0o600))
	refused(t, in("file"), "no socket of yours")
	must.Do(t, os.Symlink(in("file"), in("link")))
	refused(t, in("link"), "no socket of yours")
	must.Do(t, os.Symlink(in("file"), in("l.lock")))
	refused(t, in("l"), "the lock")
	must.Do(t, unix.Mkfifo(in("f.lock"), 0o600))
	refused(t, in("f"), "is not a file of yours")
	refused(t, in("none/s"), "directory of the socket")
	refused(t, in(strings.Repeat("x", 120)), "at most 107 bytes")
	if got, err := os.ReadFile(in("file")); err != nil || string(got) != "precious" {
		t.Errorf("the file is %q, %v", got, err)
	}
	must.Do(t, os.Chmod(dir, 0o777))
	refused(t, in("s"), "others may replace")
}

func TestAnothersSocketIsNotTaken(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make another's socket")
	}
	path := filepath.Join(t.TempDir(), "s")
	stale(t, path)
	must.Do(t, os.Lchown(path, 12345, 12345))
	refused(t, path, "no socket of yours")
}

func TestDefaultPath(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	if p, err := DefaultPath(); err != nil || p != dir+"/brigd.sock" {
		t.Errorf("%s, %v", p, err)
	}
	t.Setenv("XDG_RUNTIME_DIR", "")
	if os.Geteuid() == 0 {
		t.Skip("root's directory is /run/brigd: it may be a running brigd's, and is left alone")
	}
	own := "/tmp/brigd-" + strconv.Itoa(os.Geteuid())
	if _, err := os.Lstat(own); err == nil {
		t.Skip(own + " is in use")
	}
	p, err := DefaultPath()
	if err != nil || p != own+"/brigd.sock" {
		t.Fatalf("%s, %v", p, err)
	}
	defer os.Remove(own)
	must.Do(t, os.Chmod(own, 0o755))
	if _, err := DefaultPath(); err == nil || !strings.Contains(err.Error(), "mode 0700") {
		t.Errorf("everybody may look into it: %v", err)
	}
	must.Do(t, os.Remove(own))
	must.Do(t, os.Symlink(dir, own))
	if _, err := DefaultPath(); err == nil {
		t.Error("a symbolic link is taken")
	}
}

// connectVar has this binary connect to a socket and say whether it was served: another user, for TestPeers.
const connectVar = "BRIG_TEST_CONNECT"

func TestConnectAsAnother(t *testing.T) {
	path := os.Getenv(connectVar)
	if path == "" {
		t.Skip("it is started by TestPeers")
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Log("NO:", err)
		return
	}
	defer c.Close()
	must.Do(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
	if n, err := c.Read(make([]byte, 1)); n == 1 {
		t.Log("SERVED")
	} else {
		t.Log("NO:", err)
	}
}

// Other users are turned away by the mode, and where the mode lets them in, by their credentials.
func TestPeers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be several users")
	}
	dir := must.Get(os.MkdirTemp("", "brig-peers-"))(t)
	defer os.RemoveAll(dir)
	exe := filepath.Join(dir, "t")
	must.Do(t, os.Chmod(dir, 0o755))
	self := must.Get(os.ReadFile("/proc/self/exe"))(t)
	must.Do(t, os.WriteFile(exe, self, 0o755))
	try := func(path string, uid uint32) string {
		cmd := exec.Command(exe, "-test.run=^TestConnectAsAnother$", "-test.v")
		cmd.Env = []string{connectVar + "=" + path, "BRIG_TEST_DIR=" + dir, "TMPDIR=/tmp"}
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid, Groups: []uint32{}}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	serve := func(u *Unix) {
		for {
			c, err := u.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("x"))
			_ = c.Close()
		}
	}
	own := open(t, UnixOptions{Path: filepath.Join(dir, "own")})
	go serve(own)
	if out := try(own.path, 12345); !strings.Contains(out, "permission denied") {
		t.Errorf("the mode lets in: %s", out)
	}
	must.Do(t, os.Chmod(own.path, 0o666))
	if out := try(own.path, 12345); strings.Contains(out, "SERVED") {
		t.Error("another user is served at a socket whose mode is open")
	}
	shared := open(t, UnixOptions{Path: filepath.Join(dir, "shared"), UIDs: []int{12345}})
	go serve(shared)
	for uid, want := range map[uint32]bool{0: true, 12345: true, 12346: false} {
		if out := try(shared.path, uid); strings.Contains(out, "SERVED") != want {
			t.Errorf("uid %d, who may connect: %v: %s", uid, want, out)
		}
	}
}
