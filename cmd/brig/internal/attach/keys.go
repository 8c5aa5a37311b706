package attach

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"brig/internal/terminal"
	"brig/nsjail"

	"golang.org/x/sys/unix"
)

const escapes = "brig: at the start of a line ~. ends the jail, ~^Z suspends brig with it, ~~ is a tilde, ~? shows this"

// listen returns the input without the escapes. A payload that has stopped itself, for example by a shell's suspend,
// does not read its terminal. At the next input brig then suspends itself too, as it does at Ctrl-Z without --tty.
func (u *SetUp) listen(c *nsjail.Cmd) io.Reader {
	stopped := 0 // consecutive reads at which the payload was stopped
	do := func(escape byte) {
		switch escape {
		case terminal.End:
			u.escaped = true
			_ = c.Stop(unix.SIGKILL) // an error means that the jail has ended
		case terminal.Stop:
			suspend(c)
		case terminal.Help:
			fmt.Fprintf(u.std.Err, "\r\n%s\r\n", escapes)
		}
	}
	return &terminal.Keys{Do: do, In: readerFunc(func(p []byte) (int, error) {
		n, err := u.std.In.Read(p)
		if n <= 0 || !hasStopped(c) {
			stopped = 0
		} else if stopped++; stopped == 2 { // at the first, or after fg, it may be about to continue
			suspend(c)
		}
		return n, err
	})}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// suspend stops brig's process group, and so the jail. If no shell could continue it, it continues the payload instead.
func suspend(c *nsjail.Cmd) {
	if !terminal.Suspend() {
		_ = c.Signal(unix.SIGCONT) // an error means that the jail has ended
	}
}

// hasStopped reports whether a signal has stopped the payload: proc_pid_stat(5). With an init, the payload is the first
// child of the jail's first process; without one it is that process.
func hasStopped(c *nsjail.Cmd) bool {
	payload := strconv.Itoa(c.Pid())
	if !c.Spec.NoInit {
		children, _ := os.ReadFile("/proc/" + payload + "/task/" + payload + "/children") // unreadable once it has ended
		payload, _, _ = strings.Cut(string(children), " ")
	}
	stat, _ := os.ReadFile("/proc/" + payload + "/stat")
	return bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" T "))
}
