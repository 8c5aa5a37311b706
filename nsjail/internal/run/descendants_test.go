package run

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"brig/internal/sys"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// family starts a shell with a script, and returns it when it has written a line, with its output. The script ends with
// the test.
func family(t *testing.T, script string) (leader *exec.Cmd, out *bufio.Reader) {
	t.Helper()
	leader = exec.Command("sh", "-c", script)
	leader.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	in := must.Get(leader.StdinPipe())(t)
	out = bufio.NewReader(must.Get(leader.StdoutPipe())(t))
	must.Do(t, leader.Start())
	t.Cleanup(func() {
		KillBelow(leader.Process.Pid)
		_ = leader.Process.Kill()
		_ = leader.Wait()
		in.Close()
	})
	if line, err := out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return leader, out
}

// All below a process end, whatever they ignore, and the process itself does not.
func TestKillBelow(t *testing.T) {
	leader, out := family(t, `(trap "" TERM HUP INT; exec sleep 1000) & sleep 1000 & echo ready; wait; echo over; read line`)
	pid := leader.Process.Pid
	if n := len(sys.Descendants(pid)); n != 2 {
		t.Fatalf("%d descendants", n)
	}
	if !KillBelow(pid) {
		t.Error("there was nobody")
	}
	if line, err := out.ReadString('\n'); line != "over\n" { // the leader goes on
		t.Errorf("%q, %v", line, err)
	}
	if KillBelow(pid) {
		t.Errorf("somebody is left: %v", sys.Descendants(pid))
	}
}

// A signal for a session's leader is for the others of its group too, and for no other group below it.
func TestSignalOthers(t *testing.T) {
	leader, out := family(t, `sleep 1000 & inside=$!; setsid sleep 1000 & outside=$!
until read -r pid name state parent group rest </proc/$outside/stat && [ $group = $outside ]; do :; done
echo ready; wait $inside; echo $?; kill -0 $outside && echo lives; read line`)
	SignalOthers(leader.Process.Pid, unix.SIGUSR1)
	for _, want := range []string{strconv.Itoa(128 + int(unix.SIGUSR1)), "lives"} {
		if line, err := out.ReadString('\n'); line != want+"\n" {
			t.Errorf("%q, %v, want %s", line, err, want)
		}
	}
}

// Only memory of processes below counts, and none of what they share with others.
func TestPrivateMemory(t *testing.T) {
	leader, _ := family(t, `sleep 1000 & echo ready; wait`)
	bytes := PrivateMemory(leader.Process.Pid)
	if bytes <= 0 || bytes > 64<<20 {
		t.Errorf("a sleep has %d bytes", bytes)
	}
	KillBelow(leader.Process.Pid)
	if bytes := PrivateMemory(1 << 30); bytes != 0 {
		t.Errorf("nobody has %d bytes", bytes)
	}
}

// The netlink sockets of a process's network namespace are read while it lives: of this one's, that of the test.
func TestNetlink(t *testing.T) {
	p, c := child(t, "sleep", "100")
	if n, err := p.Netlink(1 << 40); n < 0 || err != nil {
		if _, hidden := err.(*os.PathError); !hidden || !strings.Contains(err.Error(), "/proc/PID") {
			t.Errorf("%d, %v", n, err)
		}
	}
	must.Do(t, c.Process.Kill())
	_ = c.Wait()
	if _, err := p.Netlink(1 << 40); err != os.ErrProcessDone {
		t.Errorf("at the end: %v", err)
	}
}
