package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"brig/cmd/brig/internal/verdict"
	"brig/internal/cli"
	"brig/internal/test/asuser"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// scheduling changes how the calling thread, and all that it starts, is scheduled.
type scheduling struct {
	policy, rtPriority, nice, ioClass int
	slack                             uintptr // ns
}

func (s scheduling) set() error {
	const self = 1 // IOPRIO_WHO_PROCESS: ioprio_set(2)
	if _, _, err := unix.Syscall(unix.SYS_IOPRIO_SET, self, 0, uintptr(s.ioClass<<13)); err != 0 {
		return fmt.Errorf("ioprio_set: %w", err)
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, s.nice); err != nil {
		return fmt.Errorf("setpriority: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, s.slack, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl: %w", err)
	}
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: uint32(s.policy), Priority: uint32(s.rtPriority), Nice: int32(s.nice)}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		return fmt.Errorf("sched_setattr: %w", err)
	}
	return nil
}

// TestScheduling: what puts a caller before others is not the payload's; what puts it behind them is.
func TestScheduling(t *testing.T) {
	if asuser.Second() {
		t.Skip("root starts brig as this user, too, in the first run")
	}
	callers := []int{os.Getuid()}
	if callers[0] == 0 {
		callers = append(callers, asuser.UID)
	}
	// stat's 19th and 41st field: proc(5)
	const payload = `set -- $(cat /proc/self/stat); echo nice ${19} policy ${41} slack $(cat /proc/self/timerslack_ns) io $(ionice)`
	for _, c := range []struct {
		name   string
		caller scheduling
		want   string
	}{
		{"real time", scheduling{unix.SCHED_RR, 5, 0, 0, 7}, "nice 0 policy 0 slack 50000 io none: prio 0\n"},
		{"first in, first out", scheduling{unix.SCHED_FIFO, 1, 0, 0, 7}, "nice 0 policy 0 slack 50000 io none: prio 0\n"},
		{"before others", scheduling{unix.SCHED_NORMAL, 0, -5, 1, 2000000}, "nice 0 policy 0 slack 50000 io none: prio 0\n"},
		{"behind others", scheduling{unix.SCHED_BATCH, 0, 5, 3, 50000}, "nice 5 policy 3 slack 50000 io idle\n"},
	} {
		for _, flags := range [][]string{nil, {"--net", "none"}, {"--no-init"}, {"--user", "7:8"}} {
			for _, uid := range callers {
				t.Run(fmt.Sprintf("%s %v %d", c.name, flags, uid), func(t *testing.T) {
					runtime.LockOSThread() // for good: the thread ends with the goroutine
					if err := c.caller.set(); err != nil {
						t.Skip(err)
					}
					cmd := exec.Command(brigBinary(t), append(append([]string{"run"}, flags...), "--", "sh", "-c", payload)...)
					if uid != os.Getuid() {
						cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
					}
					if out, err := cmd.CombinedOutput(); err != nil || string(out) != c.want {
						t.Errorf("%q, %v; want %q", out, err, c.want)
					}
				})
			}
		}
	}
	for _, flags := range [][]string{nil, {"--no-init"}, {"--net", "none"}, {"--net", "host", "--pids-limit", "9"}} {
		t.Run(fmt.Sprint("one processor ", flags), func(t *testing.T) { // brig's own threads are put on one, and back
			runtime.LockOSThread()
			var one unix.CPUSet
			one.Set(0)
			if err := unix.SchedSetaffinity(0, &one); err != nil {
				t.Skip(err)
			}
			out, err := exec.Command(brigBinary(t), append(append([]string{"run"}, flags...), "--", "nproc")...).CombinedOutput()
			if err != nil || string(out) != "1\n" {
				t.Errorf("%q, %v; want the processor that the caller may use", out, err)
			}
		})
	}
	t.Run("with --cpus", func(t *testing.T) { // a group's tasks file refuses a real-time process
		if ok, err := canLimit(); err != nil || !ok {
			t.Skip(err)
		}
		runtime.LockOSThread()
		if err := (scheduling{policy: unix.SCHED_RR, rtPriority: 5}).set(); err != nil {
			t.Skip(err)
		}
		if out, err := exec.Command(brigBinary(t), "run", "--cpus", "0.5", "--", "true").CombinedOutput(); err != nil {
			t.Errorf("%q, %v", out, err)
		}
	})
}

// TestLittleRoom: where the Go runtime itself would not start, brig reports it, and its exit code is not a crash's.
func TestLittleRoom(t *testing.T) {
	for limit, want := range map[string]string{"-n 8": "ulimit -Hn", "-n 9": "ulimit -Hn", "-v 100000": "ulimit -v", "-v 1250000": "ulimit -v"} {
		out, err := exec.Command("bash", "-c", "ulimit "+limit+` && exec "$@"`, "bash", brigBinary(t), "run", "--", "true").CombinedOutput()
		exit, _ := err.(*exec.ExitError)
		if text := string(out); exit == nil || exit.ExitCode() != cli.ExitUsage || !strings.Contains(text, want) || strings.Count(text, "\n") != 1 {
			t.Errorf("ulimit %s: %q, %v; want exit code 125 and one line with %q", limit, out, err, want)
		}
	}
}

// TestEarlyQuit: SIGQUIT in the first milliseconds ends brig as it ends any program. Go would crash, with exit code 2.
func TestEarlyQuit(t *testing.T) {
	for _, after := range []string{"runtime", "os", "net"} { // packages, in the order of their initialisation
		cmd := exec.Command(brigBinary(t), "run", "--", "sleep", "100")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GODEBUG=inittrace=1"}
		stderr := must.Get(cmd.StderrPipe())(t)
		must.Do(t, cmd.Start())
		trace := bufio.NewScanner(stderr)
		for trace.Scan() && !strings.HasPrefix(trace.Text(), "init "+after+" @") {
			continue
		}
		must.Do(t, cmd.Process.Signal(unix.SIGQUIT))
		for trace.Scan() { // up to its end
			continue
		}
		_ = cmd.Wait() // an *exec.ExitError
		ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if quit := ws.Signaled() && ws.Signal() == unix.SIGQUIT; !quit && ws.ExitStatus() != verdict.ExitSignal+int(unix.SIGQUIT) {
			t.Errorf("after the initialisation of %s: %v", after, cmd.ProcessState)
		}
	}
}
