package desk

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"unsafe"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// TestSignalSets: the kernel's set has the bit of each signal.
func TestSignalSets(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGHUP, unix.SIGTTIN, unix.SIGTTOU, 32, 64} {
		s := set(sig)
		if bytes := (*[8]byte)(unsafe.Pointer(&s)); bytes[(sig-1)/8] != 1<<((sig-1)%8) { // little-endian
			t.Errorf("signal %d: %x", sig, bytes)
		}
	}
}

// TestStopIsNone: where nobody would continue this process, or the signal is ignored, stop reports that it stops
// nothing, and leaves no signal behind.
func TestStopIsNone(t *testing.T) {
	if inSession(t, "") { // the group of a session's leader is an orphan
		return
	}
	for _, ignored := range []bool{false, true} {
		if ignored {
			signal.Ignore(unix.SIGTTIN, unix.SIGTTOU)
		}
		for _, sig := range []unix.Signal{unix.SIGTTIN, unix.SIGTTOU} {
			if stop(sig) {
				t.Errorf("%v, ignored %v: it reports that this process has been continued", sig, ignored)
			}
		}
	}
}

// TestEndingInTheBackground: once the payload has been asked to end, nothing waits for the terminal, and what is still
// to be shown is dropped where the terminal refuses it.
func TestEndingInTheBackground(t *testing.T) {
	if inSession(t, "") {
		return
	}
	job := exec.Command("sleep", "100")
	job.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0, Pdeathsig: syscall.SIGKILL}
	must.Do(t, job.Start())
	d, payload := started(t, true)
	if !d.background() || d.Ending() {
		t.Error("nothing has asked for the terminal yet")
	}
	if d.Stopped(unix.SIGTTIN) || d.attached {
		t.Error("it asks for the terminal of a payload that is to end")
	}
	modes := modesOf(t, 0)
	modes.Lflag |= unix.TOSTOP
	signal.Ignore(unix.SIGTTOU)
	must.Do(t, unix.IoctlSetTermios(0, unix.TCSETS, &modes))
	if d.mayShow() {
		t.Error("it shows output at a terminal that refuses it")
	}
	modes.Lflag &^= unix.TOSTOP
	must.Do(t, unix.IoctlSetTermios(0, unix.TCSETS, &modes))
	if !d.mayShow() {
		t.Error("it drops output that the terminal takes")
	}
	_ = job.Process.Kill()
	_ = job.Wait()
	must.Do(t, unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, os.Getpid()))
	payload.Close()
	d.End()
}
