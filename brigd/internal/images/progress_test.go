package images

import (
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brig/image"
	"brig/internal/sys"
	"brig/internal/test/must"
)

// TestProgress: one line on a terminal, drawn over itself; a line for each layer elsewhere; nothing if quiet.
func TestProgress(t *testing.T) {
	layers := []image.Layer{{Digest: "sha256:" + strings.Repeat("a", 64), Size: 1 << 20}, {Digest: "sha256:" + strings.Repeat("b", 64), Size: 10}}
	play := func(out io.Writer, quiet bool) {
		p := newProgress(out, "x:1", layers, quiet)
		p.have(layers[1].Digest, 10)
		p.have(layers[0].Digest, 1<<19)
		p.have(layers[0].Digest, 1<<20)
		p.unpacking(layers[0].Digest)
		p.end()
	}
	var b strings.Builder
	if play(&b, false); b.String() != "x:1: layer bbbbbbbbbbbb, 10 bytes\nx:1: layer aaaaaaaaaaaa, 1.0 MiB\n" {
		t.Errorf("%q", b.String())
	}
	b.Reset()
	if play(&b, true); b.String() != "" {
		t.Errorf("%q", b.String())
	}
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals: %v", err)
	}
	defer master.Close()
	n := 0
	must.Do(t, sys.Control(master, func(fd int) (err error) {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		n, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		return err
	}))
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals: %v", err)
	}
	defer slave.Close()
	play(slave, false)
	want := "\r\x1b[Kx:1: 1.0 MiB of 1.0 MiB, 1 of 2 layers unpacked\r\n"
	must.Do(t, master.SetReadDeadline(time.Now().Add(10*time.Second)))
	got := ""
	for text := make([]byte, 4096); !strings.Contains(got, want); { // a terminal passes on what was written in pieces
		n, err := master.Read(text)
		if got += string(text[:n]); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
	}
}
