package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// TestOthersSockets: a socket or FIFO of root's that a user's payload cannot reach does not refuse the user's --work, be
// there a process behind it or not. One that it can reach does.
func TestOthersSockets(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root makes the sockets")
	}
	for _, c := range []struct {
		uid  int
		mode uint32
		want string
	}{{0, 0o755, ""}, {0, 0o600, ""}, {0, 0o666, "holds a socket"}, {asuser.UID, 0, "holds a socket"}} {
		dir := t.TempDir()
		must.Do(t, os.Chmod(filepath.Dir(dir), 0o755))
		fd := must.Get(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
		s := filepath.Join(dir, "s")
		must.Do(t, errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: s}), os.Chown(s, c.uid, c.uid), unix.Chmod(s, c.mode)))
		must.Do(t, errors.Join(unix.Mkfifo(dir+"/f", 0o600), os.Chown(dir, asuser.UID, asuser.UID)))
		for _, live := range []bool{true, false} {
			cmd := exec.Command(brigBinary(t), "run", "--work", dir, "--", "true")
			cmd.Env = append(os.Environ(), "HOME=/none", "XDG_STATE_HOME="+dir+"/state")
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: asuser.UID, Gid: asuser.UID}}
			out, err := cmd.CombinedOutput()
			if refused := err != nil; refused != (c.want != "" && (live || c.mode == 0)) || !strings.Contains(string(out), c.want) && refused {
				t.Errorf("uid %d, mode %o, live %v: %v, %s", c.uid, c.mode, live, err, out)
			}
			unix.Close(fd)
		}
	}
}
