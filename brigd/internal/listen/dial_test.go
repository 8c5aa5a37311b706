package listen

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brig/internal/test/must"
)

// A client takes the default socket, or else that of the package, and tells of one that does not admit it.
func TestDial(t *testing.T) {
	own, unitDir := t.TempDir(), t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", own)
	defer func(was string) { packaged = was }(packaged)
	packaged = filepath.Join(unitDir, "brigd.sock")
	d := &Dialer{}
	if _, err := d.Dial(t.Context()); err == nil || !strings.Contains(d.Explain(err).Error(), own) ||
		!strings.Contains(d.Explain(err).Error(), "--socket") {
		t.Errorf("nobody listens: %v", err)
	}
	reaches := func(want string) {
		t.Helper()
		c, err := d.Dial(t.Context())
		if err != nil || c.RemoteAddr().String() != want {
			t.Errorf("%v, not at %s", err, want)
			return
		}
		c.Close()
	}
	unit := must.Get(net.Listen("unix", packaged))(t)
	defer unit.Close()
	reaches(packaged)
	must.Do(t, os.Chmod(unitDir, 0o755)) // as systemd makes it
	left := must.Get(net.ListenUnix("unix", &net.UnixAddr{Name: own + "/brigd.sock"}))(t)
	left.SetUnlinkOnClose(false)
	reaches(own + "/brigd.sock")
	left.Close() // it was killed
	reaches(packaged)

	for err, want := range map[error]string{unix.EACCES: "allow_uids", io.EOF: "start it"} {
		if text := d.Explain(fmt.Errorf("dial: %w", err)).Error(); !strings.Contains(text, want) {
			t.Errorf("%v: %s", err, text)
		}
	}
	d.note(packaged, true)
	closed := d.Explain(io.EOF).Error()
	if want := fmt.Sprintf("admits user %d once", os.Geteuid()); os.Geteuid() != 0 && !strings.Contains(closed, want) {
		t.Error(closed)
	}
	if os.Geteuid() != 0 {
		must.Do(t, os.Chmod(packaged, 0)) // as SocketMode=0600 of root's is to others
		if _, err := d.Dial(t.Context()); !errors.Is(err, unix.EACCES) || !strings.Contains(d.Explain(err).Error(), "allow_uids") {
			t.Errorf("closed to the caller: %v", err)
		}
	}
}
