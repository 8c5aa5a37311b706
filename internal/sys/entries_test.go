package sys

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestEntries: every name is read once, with its type, also if they do not fit into the buffer at once.
func TestEntries(t *testing.T) {
	dir := t.TempDir()
	want := map[string]uint32{"d": unix.S_IFDIR, "f": unix.S_IFIFO, "l": unix.S_IFLNK, "s": unix.S_IFSOCK}
	for i := range 300 {
		want[fmt.Sprintf("%d%s", i, strings.Repeat("x", i%200))] = unix.S_IFREG
	}
	for name, kind := range want {
		var err error
		switch at := filepath.Join(dir, name); kind {
		case unix.S_IFDIR:
			err = os.Mkdir(at, 0o700)
		case unix.S_IFIFO:
			err = unix.Mkfifo(at, 0o600)
		case unix.S_IFLNK:
			err = os.Symlink("d", at)
		case unix.S_IFSOCK:
			l, lerr := net.Listen("unix", at)
			if err = lerr; err == nil {
				defer l.Close()
			}
		default:
			err = os.WriteFile(at, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := kindOf(unix.AT_FDCWD, filepath.Join(dir, name)); got != kind {
			t.Errorf("%s: %o", name, got)
		}
	}
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	got := map[string]uint32{}
	for e, err := range Entries(int(d.Fd()), make([]byte, 1024)) {
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := got[e.Name()]; twice || !e.Is(e.Name()) || e.Dir != int(d.Fd()) {
			t.Errorf("%+v", e)
		}
		got[e.Name()] = e.Kind
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v", got)
	}
	for _, err := range Entries(-1, make([]byte, EntriesSize)) {
		if err != unix.EBADF {
			t.Error(err)
		}
	}
	if kindOf(int(d.Fd()), "absent") != 0 {
		t.Error("an absent file has a type")
	}
}
