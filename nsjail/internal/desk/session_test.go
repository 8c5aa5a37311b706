package desk

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// session is set in a process that leads a session with a controlling terminal, its descriptor 0.
const session = "BRIG_TEST_SESSION"

// inSession runs a test in a process that leads a session of its own, and returns false there. It returns true in the
// test's process. typed is what a user has typed at the terminal.
func inSession(t *testing.T, typed string) (over bool) {
	t.Helper()
	if os.Getenv(session) == t.Name() {
		return false
	}
	master, slave := terminal(t)
	modes := modesOf(t, int(slave.Fd()))
	modes.Lflag &^= unix.ECHO
	must.Do(t, unix.IoctlSetTermios(int(slave.Fd()), unix.TCSETS, &modes))
	must.Get(master.WriteString(typed))(t)
	leader := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.timeout=60s")
	leader.Env = append(os.Environ(), session+"="+t.Name())
	leader.Stdin = slave
	leader.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	if out, err := leader.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return true
}

// started opens a desk for this session's terminal, and returns the payload's side of it.
func started(t *testing.T, alone bool) (d *Desk, payload *os.File) {
	t.Helper()
	if !Controls(0) {
		t.Fatal("this process has no terminal")
	}
	d = Open(0, nobody)
	payload = os.NewFile(uintptr(d.Seat("stdin", 0, true)), "pts")
	pidfd := os.NewFile(uintptr(must.Get(unix.PidfdOpen(os.Getpid(), 0))(t)), "pidfd")
	defer pidfd.Close()
	d.Start(pidfd, alone)
	return d, payload
}

// An attached desk has made the caller's terminal raw, and passes on what is typed there as it was typed. Detached, the
// terminal has its modes again.
func TestAttach(t *testing.T) {
	if inSession(t, "line\n") {
		return
	}
	for _, alone := range []bool{true, false} {
		before := modesOf(t, 0)
		d, payload := started(t, alone)
		if !d.Stopped(unix.SIGTTIN) || d.Stopped(unix.SIGTTIN) { // it has the foreground already
			t.Fatal("the payload is not to have the foreground once")
		}
		raw := modesOf(t, 0)
		if raw.Lflag&(unix.ICANON|unix.ISIG|unix.ECHO) != 0 || raw.Iflag&(unix.ICRNL|unix.IXON) != 0 {
			t.Errorf("the caller's terminal is not raw: %+v", raw)
		}
		if cooks := raw.Oflag&unix.OPOST != 0; cooks == alone || d.screen.raw.Load() != alone {
			t.Errorf("alone %v: it makes carriage returns: %v", alone, cooks)
		}
		if alone { // the payload's terminal cuts lines
			buf := make([]byte, 100)
			if n, err := payload.Read(buf); string(buf[:n]) != "line\n" {
				t.Errorf("the payload reads %q, %v", buf[:n], err)
			}
		}
		if !d.Leave() || modesOf(t, 0) != before || d.screen.raw.Load() {
			t.Errorf("left, the terminal has %+v, and had %+v", modesOf(t, 0), before)
		}
		if !d.Stopped(unix.SIGTTOU) || modesOf(t, 0) != raw {
			t.Error("the desk does not come back")
		}
		if d.End(); modesOf(t, 0) != before {
			t.Errorf("at the end the terminal has %+v, and had %+v", modesOf(t, 0), before)
		}
		if d.Stopped(unix.SIGTTOU) || modesOf(t, 0) != before {
			t.Error("the desk comes back after the end")
		}
		payload.Close()
	}
}

// In the background, where nobody would continue this process, the payload's input ends. The caller's terminal stays as
// it is.
func TestAttachInTheBackground(t *testing.T) {
	if inSession(t, "not for it\n") {
		return
	}
	signal.Ignore(unix.SIGTTIN, unix.SIGTTOU) // as in a group that no job control is for: EIO
	job := exec.Command("sleep", "100")
	job.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0, Pdeathsig: syscall.SIGKILL}
	must.Do(t, job.Start())
	before := modesOf(t, 0)
	d, payload := started(t, true)
	if !d.background() || !d.Stopped(unix.SIGTTIN) {
		t.Error("the payload waits for what it cannot have")
	}
	if n, err := payload.Read(make([]byte, 10)); n != 0 || err == nil {
		t.Errorf("the payload reads %d bytes, %v", n, err)
	}
	if d.attached || modesOf(t, 0) != before {
		t.Errorf("attached %v; the terminal has %+v, and had %+v", d.attached, modesOf(t, 0), before)
	}
	payload.Close()
	d.End()
	_ = job.Process.Kill()
	_ = job.Wait()
}

// A SIGCONT that comes while the desk asks for the terminal in the background has continued this process: it is late
// for the payload, once.
func TestAttachOwesAContinue(t *testing.T) {
	if inSession(t, "") {
		return
	}
	signal.Ignore(unix.SIGTTOU) // the desk may set the modes
	job := exec.Command("sleep", "100")
	job.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0, Pdeathsig: syscall.SIGKILL}
	must.Do(t, job.Start())
	d, payload := started(t, true)
	if newly, err := d.attach(false); !newly || err != nil || !d.owed {
		t.Errorf("newly %v, %v, owed %v", newly, err, d.owed)
	}
	passed := 0
	for range 2 {
		must.Do(t, d.Continue(func() error { passed++; return nil }))
	}
	if passed != 1 {
		t.Errorf("passed on %d of two", passed)
	}
	_ = job.Process.Kill()
	_ = job.Wait()
	must.Do(t, unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, os.Getpid()))
	if d.detach(); d.owed {
		t.Error("a SIGCONT is owed to a terminal that was left")
	}
	payload.Close()
	d.End()
}
