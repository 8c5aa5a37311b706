package desk

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// TestKeysWaitForTheForeground: what is typed before the payload's group has the foreground of its terminal is for that
// group all the same, and not for the leader of the session.
func TestKeysWaitForTheForeground(t *testing.T) {
	m := must.Get(unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0))(t)
	d := newDesk(m)
	d.attached, d.pumping = true, true
	must.Do(t, unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0))
	slave := os.NewFile(uintptr(must.Get(peer(m))(t)), "pts")
	var keys, goes, shows, ends [2]*os.File
	for _, p := range []*[2]*os.File{&keys, &goes, &shows, &ends} {
		r, w, err := os.Pipe()
		must.Do(t, err)
		p[0], p[1] = r, w
		defer r.Close()
		defer w.Close()
	}
	d.in = must.Get(unix.Dup(int(keys[0].Fd())))(t)
	d.ends = must.Get(unix.Dup(int(ends[0].Fd())))(t)
	// the leader has the foreground until it has read a line; the job is a group of its own, which then has it
	leader := exec.Command("sh", "-c", `trap : INT; echo ready >&4; read line <&3; set -m; sleep 20; echo job $? >&4`)
	leader.Stdin, leader.Stdout, leader.Stderr, leader.ExtraFiles = slave, slave, slave, []*os.File{goes[0], shows[1]}
	leader.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	must.Do(t, leader.Start())
	slave.Close()
	shows[1].Close()
	out := bufio.NewReader(shows[0])
	if line, err := out.ReadString('\n'); line != "ready\n" || !d.leads() {
		t.Fatalf("%q, %v: the leader has the foreground: %v", line, err, d.leads())
	}
	must.Get(keys[1].Write([]byte{3}))(t) // Ctrl-C
	done := make(chan bool)
	go func() {
		d.pump()
		close(done)
	}()
	must.Get(goes[1].WriteString("\n"))(t)
	if line, err := out.ReadString('\n'); strings.TrimSpace(line) != "job 130" {
		t.Errorf("%q, %v: the key did not interrupt the job", line, err)
	}
	if err := leader.Wait(); err != nil {
		t.Errorf("the leader: %v", err)
	}
	d.End()
	ends[1].Close()
	<-done
}

// TestKeysDoNotWaitForEver: a key is passed on at once to a terminal without a session, and after the end, where nobody
// hands the foreground over.
func TestKeysDoNotWaitForEver(t *testing.T) {
	m := must.Get(unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0))(t)
	d := newDesk(m)
	d.attached = true
	if d.leads() {
		t.Error("a terminal of no session has a leader")
	}
	d.settle()
	d.master.Close()
	if d.leads() {
		t.Error("a closed terminal has a leader")
	}
}
