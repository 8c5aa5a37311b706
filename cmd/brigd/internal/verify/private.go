package verify

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const inside = "BRIG_VERIFY_PRIVATE"

// private runs the rest of verify, for root, in a process with a mount namespace of its own, where set-ups may mount:
// nothing of that stays on the host, whatever happens. The code is -1 if the caller is to go on itself.
func private(args []string) (code int, err error) {
	if os.Geteuid() != 0 || os.Getenv(inside) != "" {
		return -1, os.Unsetenv(inside)
	}
	runtime.LockOSThread() // Pdeathsig is of the thread
	cmd := exec.Command("/proc/self/exe", append([]string{"verify"}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inside+"=1")
	// unshare(2); the parent's mounts get no mount of the child's
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	if err := cmd.Start(); err != nil {
		return exitUsage, fmt.Errorf("no mount namespace can be made for the attacks: %w; run it as another user, "+
			"or where root may make one", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it has ended, or does so now
		case err := <-done:
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
				return exit.ExitCode(), nil
			} else if err != nil {
				return exitUsage, err
			}
			return 0, nil
		}
	}
}
