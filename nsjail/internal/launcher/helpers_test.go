package launcher

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

func start(t *testing.T) *Launcher {
	t.Helper()
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// do has the launcher perform a program.
func do(t *testing.T, s *Launcher, p *program.Program, r program.Request, fds ...int) (int, error) {
	t.Helper()
	r.Cgroup = -1
	return s.Do(p, r, fds...)
}

func null(t *testing.T) int {
	t.Helper()
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return int(f.Fd())
}

// reap waits for a spawned process and returns its status.
func reap(t *testing.T, pid int) syscall.WaitStatus {
	t.Helper()
	var ws syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &ws, 0, nil)
		if err == nil {
			return ws
		}
		if err != syscall.EINTR {
			t.Fatalf("wait for %d: %v", pid, err)
		}
	}
}

// exits is a program that ends with a code.
func exits(code int) *program.Program {
	p := program.New(2)
	p.Add("exit", unix.SYS_EXIT_GROUP, program.Int(code))
	return p
}

// waits is a program that never ends.
func waits() *program.Program {
	p := program.New(2)
	p.Add("wait", unix.SYS_PPOLL, program.Int(0), program.Int(0), program.Int(0), program.Int(0), program.Int(0))
	return p
}

func fdCount(t *testing.T, pid int) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// ended waits for the end of the process of a pidfd.
func ended(t *testing.T, pidfd int, what string) {
	t.Helper()
	p := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if n, err := unix.Poll(p, 1000); n == 1 {
			return
		} else if err != nil && err != unix.EINTR {
			t.Fatal(err)
		}
	}
	t.Fatalf("%s is still there after 10 s", what)
}
