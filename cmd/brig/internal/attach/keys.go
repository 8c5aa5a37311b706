package attach

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// keys reads the input of the terminal for the payload and removes brig's escapes. As in ssh(1), an escape is a tilde
// at the start of a line followed by a character.
type keys struct {
	in    io.Reader
	do    func(escape byte)
	rest  []byte // read, but not yet returned
	held  bool   // a tilde that may begin an escape
	typed bool   // the line already has a character
}

const (
	escapeEnd, escapeStop, escapeHelp = '.', 'Z' & 0x1f, '?'

	escapes = "brig: at the start of a line ~. ends the jail, ~^Z suspends brig with it, ~~ is a tilde, ~? shows this"
)

// Read returns input for the payload, without escapes. An error of the terminal is returned by the next Read.
func (k *keys) Read(p []byte) (n int, err error) {
	for len(k.rest) == 0 && err == nil && len(p) > 0 {
		var got int
		got, err = k.in.Read(p)
		if k.rest = k.filter(p[:got]); err != nil && k.held { // nothing follows the tilde
			k.rest, k.held = append(k.rest, '~'), false
		}
	}
	n = copy(p, k.rest)
	if k.rest = k.rest[n:]; n > 0 {
		err = nil
	}
	return n, err
}

func (k *keys) filter(typed []byte) (out []byte) {
	for _, c := range typed {
		if held := k.held; held {
			k.held = false
			if bytes.IndexByte([]byte{escapeEnd, escapeStop, escapeHelp}, c) >= 0 {
				k.do(c)
				continue
			}
			if out = append(out, '~'); c == '~' {
				k.typed = true
				continue
			}
		} else if c == '~' && !k.typed {
			k.held = true
			continue
		}
		k.typed = c != '\r' && c != '\n'
		out = append(out, c)
	}
	return out
}

// listen returns the input without the escapes. A payload that has stopped itself, for example by a shell's suspend,
// does not read its terminal. At the next input brig then suspends itself too, as it does at Ctrl-Z without --tty.
func (u *SetUp) listen(c *nsjail.Cmd) io.Reader {
	stopped := 0 // consecutive reads at which the payload was stopped
	do := func(escape byte) {
		switch escape {
		case escapeEnd:
			u.escaped = true
			_ = c.Stop(unix.SIGKILL) // an error means that the jail has ended
		case escapeStop:
			suspend(c)
		case escapeHelp:
			fmt.Fprintf(u.std.Err, "\r\n%s\r\n", escapes)
		}
	}
	return &keys{do: do, in: readerFunc(func(p []byte) (int, error) {
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

// suspend stops brig's process group, and so the jail. If no shell could continue it (an orphaned process group,
// setpgid(2)), it continues the payload instead.
func suspend(c *nsjail.Cmd) {
	parent := os.Getppid()
	session, err := unix.Getsid(parent)
	own, oerr := unix.Getsid(0)
	group, gerr := unix.Getpgid(parent)
	if err != nil || oerr != nil || gerr != nil || session != own || group == unix.Getpgrp() {
		_ = c.Signal(unix.SIGCONT) // an error means that the jail has ended
		return
	}
	_ = unix.Kill(0, unix.SIGTSTP)
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
