package run

import (
	"os"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/internal/launcher"

	"golang.org/x/sys/unix"
)

// A terminal has the settings again that it had, whatever the payload has made of them, and the mode of a pipe is the
// one before, without a permission that another has taken away meanwhile.
func TestLoansEnd(t *testing.T) {
	_, terminal := pty(t)
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer r.Close()
	defer w.Close()
	must.Do(t, r.Chmod(0o640))
	tty, pipe := int(terminal.Fd()), int(r.Fd())
	var list loans
	for _, f := range []*os.File{terminal, r} {
		st := statOf(t, int(f.Fd()))
		list.note(f, int(f.Fd()), &st, Owner{})
	}
	before := *must.Get(unix.IoctlGetTermios(tty, unix.TCGETS))(t)
	hostile := before
	hostile.Lflag = 0
	hostile.Iflag ^= unix.ICRNL
	hostile.Cc[unix.VINTR] = 0
	must.Do(t, unix.IoctlSetTermios(tty, unix.TCSETS, &hostile))
	must.Do(t, unix.IoctlSetInt(tty, unix.TIOCEXCL, 0))
	must.Do(t, unix.Fchmod(pipe, 0o602))
	list.end()
	if now := *must.Get(unix.IoctlGetTermios(tty, unix.TCGETS))(t); now != before {
		t.Errorf("the terminal has %+v, and had %+v", now, before)
	}
	if exclusive := must.Get(unix.IoctlGetInt(tty, unix.TIOCGEXCL))(t); exclusive != 0 {
		t.Error("nobody else can open the terminal any more")
	}
	if mode := statOf(t, pipe).Mode & 0o777; mode != 0o600 {
		t.Errorf("the pipe has mode %o", mode)
	}
	if len(list) != 0 {
		t.Error("a second end would restore again")
	}
}

// A terminal that was exclusive stays so, and a file that the caller has closed is left alone.
func TestLoansOfTheCallers(t *testing.T) {
	_, terminal := pty(t)
	must.Do(t, unix.IoctlSetInt(int(terminal.Fd()), unix.TIOCEXCL, 0))
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer w.Close()
	var list loans
	for _, f := range []*os.File{r, terminal} {
		st := statOf(t, int(f.Fd()))
		list.note(f, int(f.Fd()), &st, Owner{})
	}
	r.Close()
	list.end()
	if exclusive := must.Get(unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGEXCL))(t); exclusive == 0 {
		t.Error("others can open the terminal")
	}
}

// Root's terminal belongs to the payload's group meanwhile, if it does not belong to another jail's.
func TestLoansOfRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	for name, c := range map[string]struct {
		group, during int
	}{
		"its own":            {0, 4711},
		"a living keeper's":  {launcher.PayloadIDs + 1, launcher.PayloadIDs + 1}, // process 1 lives
		"above the range":    {launcher.PayloadIDs + launcher.PayloadIDCount, launcher.PayloadIDs + launcher.PayloadIDCount},
		"a dead keeper's":    {launcher.PayloadIDs + launcher.PayloadIDCount - 1, 4711},
		"below the payloads": {launcher.PayloadIDs - 1, 4711},
	} {
		_, terminal := pty(t)
		tty := int(terminal.Fd())
		must.Do(t, unix.Fchown(tty, -1, c.group))
		must.Do(t, unix.Fchmod(tty, 0o602))
		var list loans
		st := statOf(t, tty)
		list.note(terminal, tty, &st, Owner{Other: true, UID: 4711, GID: 4711})
		during := statOf(t, tty)
		if int(during.Gid) != c.during || c.during == 4711 && during.Mode&0o777 != 0o660 {
			t.Errorf("%s: group %d, mode %o", name, during.Gid, during.Mode&0o777)
		}
		list.end()
		after := statOf(t, tty)
		if int(after.Gid) != c.group || after.Mode&0o077&^0o602 != 0 {
			t.Errorf("%s: afterwards group %d, mode %o", name, after.Gid, after.Mode&0o777)
		}
	}
}

// A payload that is another user owns what was made for it.
func TestOwner(t *testing.T) {
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer r.Close()
	defer w.Close()
	before := statOf(t, int(w.Fd()))
	must.Do(t, Owner{UID: 4711, GID: 4712}.own(int(w.Fd()))) // the caller itself
	if now := statOf(t, int(w.Fd())); now.Uid != before.Uid || now.Gid != before.Gid {
		t.Errorf("%d:%d", now.Uid, now.Gid)
	}
	if err := (Owner{Other: true, UID: 4711, GID: 4712}).own(int(w.Fd())); os.Geteuid() != 0 {
		if err != unix.EPERM {
			t.Error(err)
		}
		return
	}
	if now := statOf(t, int(w.Fd())); now.Uid != 4711 || now.Gid != 4712 {
		t.Errorf("%d:%d", now.Uid, now.Gid)
	}
}
