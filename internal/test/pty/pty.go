// Package pty is a terminal with somebody at it: what a program prints is read as it comes, and keys can be typed.
package pty

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// Terminal is a pseudo-terminal: pty(7).
type Terminal struct {
	Slave *os.File
	Cmd   *exec.Cmd // that runs at it

	t      *testing.T
	master *os.File
	mu     sync.Mutex
	text   bytes.Buffer
	more   chan struct{}
}

// Open makes a terminal of 33 by 101.
func Open(t *testing.T) *Terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	must.Do(t, err)
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	must.Do(t, err)
	must.Do(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	c := &Terminal{t: t, master: os.NewFile(uintptr(fd), "ptmx"), more: make(chan struct{}, 1)}
	c.Resize(33, 101)
	if c.Slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	go c.read()
	t.Cleanup(func() {
		if c.Cmd != nil {
			_ = c.Cmd.Process.Kill() // an error says that it has ended
		}
		c.Slave.Close()
		c.master.Close()
	})
	return c
}

// Start runs a program at the terminal, in a session of its own.
func (c *Terminal) Start(cmd *exec.Cmd) {
	c.t.Helper()
	c.Cmd = cmd
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Slave, c.Slave, c.Slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must.Do(c.t, cmd.Start())
}

func (c *Terminal) read() {
	buf := make([]byte, 4096)
	for {
		n, err := c.master.Read(buf)
		c.mu.Lock()
		c.text.Write(buf[:n])
		c.mu.Unlock()
		select {
		case c.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// Resize changes its size.
func (c *Terminal) Resize(rows, cols uint16) {
	c.t.Helper()
	rc, err := c.master.SyscallConn()
	must.Do(c.t, err)
	must.Do(c.t, rc.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
	}))
	must.Do(c.t, err)
}

// Keys types.
func (c *Terminal) Keys(s string) {
	c.t.Helper()
	_, err := c.master.WriteString(s)
	must.Do(c.t, err)
}

// See waits until the terminal shows a text, and forgets all up to its end.
func (c *Terminal) See(want string) {
	c.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		c.mu.Lock()
		i := bytes.Index(c.text.Bytes(), []byte(want))
		if i >= 0 {
			c.text.Next(i + len(want))
		}
		shown := c.text.String()
		c.mu.Unlock()
		if i >= 0 {
			return
		}
		select {
		case <-c.more:
		case <-deadline:
			c.t.Fatalf("the terminal does not show %q but %q", want, shown)
		}
	}
}

// Press types a key again and again until the terminal shows a text.
func (c *Terminal) Press(key, want string) {
	c.t.Helper()
	for range 400 {
		c.Keys(key)
		timeout := time.After(50 * time.Millisecond)
		for waits := true; waits; {
			select {
			case <-c.more:
			case <-timeout:
				waits = false
			}
			c.mu.Lock()
			shown := bytes.Contains(c.text.Bytes(), []byte(want))
			c.mu.Unlock()
			if shown {
				c.See(want)
				return
			}
		}
	}
	c.See(want) // fails
}

// Shown returns what the terminal shows and no See has seen.
func (c *Terminal) Shown() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// Forget forgets what the terminal shows.
func (c *Terminal) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.Reset()
}

// Exit waits for the program and returns its exit code.
func (c *Terminal) Exit() int {
	c.t.Helper()
	// the error is an *exec.ExitError or none: the streams are files
	_ = c.Cmd.Wait()
	return c.Cmd.ProcessState.ExitCode()
}

// Modes returns those of the terminal: termios(3).
func (c *Terminal) Modes() unix.Termios {
	c.t.Helper()
	return *must.Get(unix.IoctlGetTermios(int(c.Slave.Fd()), unix.TCGETS))(c.t)
}
