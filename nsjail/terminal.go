package nsjail

import (
	"encoding/binary"
	"os"

	"brig/internal/sys"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/run"

	"golang.org/x/sys/unix"
)

// terminalOf returns 1 more than the number of the first stream that is the caller's controlling terminal, if the
// payload can have one in its place, or 0. Job control needs init: a jail without it has a pipe there.
func terminalOf(c *Cmd) int {
	if c.Spec.TTY || c.Spec.NoInit || c.parked || c.ordered != nil {
		return 0
	}
	c.setStreams()
	return run.Controlling(c.streams.In, c.streams.Out, c.streams.Read)
}

// awaitEnd waits for the last report, and meanwhile answers for the payload's terminal.
func awaitEnd(c *Cmd) {
	for c.awaitReport(); c.streams.Seat && nextReport(c.report) == launcher.ReportStop; c.awaitReport() {
		rep, _, err := c.receive()
		if err != nil {
			return
		}
		switch sig := unix.Signal(rep.A); {
		case c.streams.Stopped(sig):
			tell(c, launcher.TellForeground)
		case sig == unix.SIGTSTP: // Ctrl-Z at the payload's terminal: it is for this process's whole group
			leaveTerminal(c)
			_ = unix.Kill(0, unix.SIGTSTP)
		}
	}
}

// nextReport returns the type of the next report, which it leaves in the socket; 0 for none.
func nextReport(f *os.File) int {
	var b [4]byte
	n := 0
	err := sys.Control(f, func(fd int) (err error) {
		n, _, err = unix.Recvfrom(fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return err
	})
	if err != nil || n < len(b) {
		return 0
	}
	return int(binary.NativeEndian.Uint32(b[:]))
}

// leaveTerminal hands the caller's terminal back before this process stops.
func leaveTerminal(c *Cmd) {
	if c.streams.Leave() {
		tell(c, launcher.TellBackground)
	}
}

// tell sends init a byte. An error means that the jail has ended.
func tell(c *Cmd, what byte) { _, _ = c.report.Write([]byte{what}) }

// beforeSignal does for the payload's terminal what a signal of the caller's means.
func beforeSignal(c *Cmd, s unix.Signal) {
	switch {
	case !c.streams.Seat:
	case s == unix.SIGTSTP:
		leaveTerminal(c)
	case s == unix.SIGWINCH:
		c.streams.Resize()
	}
}
