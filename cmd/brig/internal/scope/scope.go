// Package scope makes a scope of systemd for this process.
package scope

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Enter asks systemd for a new scope and moves this process there: systemd.scope(5), org.freedesktop.systemd1(5)
// StartTransientUnit. Its group is delegated, so that a jail's group can be made below it. busctl(1) speaks D-Bus, so
// that brig needs no library for it. An ordinary user asks the user's service manager.
func Enter() error {
	const remedy = "; run brig where systemd runs and has a bus, " +
		"or start it in a delegated group and leave --systemd-scope out"
	name := fmt.Sprintf("brig-%d-%d.scope", os.Getpid(), time.Now().UnixNano())
	var said bytes.Buffer
	cmd := exec.Command("busctl", scopeCall(name, os.Getpid(), os.Geteuid())...)
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(said.String()); text != "" && !errors.Is(err, exec.ErrNotFound) {
			err = errors.New(strconv.Quote(text[:min(len(text), 400)]))
		}
		return fmt.Errorf("--systemd-scope: systemd gives no scope: %w%s", err, remedy)
	}
	if err := awaitScope(name); err != nil {
		return fmt.Errorf("--systemd-scope: %w%s", err, remedy)
	}
	return nil
}

// scopeCall returns the command line of busctl(1): a transient unit with these properties, and no auxiliary units.
func scopeCall(name string, pid, uid int) []string {
	args := []string{"--quiet", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
		"org.freedesktop.systemd1.Manager",
		"StartTransientUnit", "ssa(sv)a(sa(sv))", name, "fail", "4",
		"Description", "s", "brig: the control groups of a jail",
		"PIDs", "au", "1", strconv.Itoa(pid),
		"Delegate", "b", "true",
		"CollectMode", "s", "inactive-or-failed",
		"0"}
	if uid != 0 {
		args = append([]string{"--user"}, args...)
	}
	return args
}

// awaitScope waits until this process is in the scope: systemd replies before it moves the process. The kernel does not
// notify a process of the move.
func awaitScope(name string) error {
	const most = 10 * time.Second
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(time.Millisecond) {
		self, err := os.ReadFile("/proc/self/cgroup")
		if err != nil {
			return err
		}
		if strings.Contains(string(self), "/"+name+"\n") {
			return nil
		}
	}
	return fmt.Errorf("systemd has not moved this process to %s in %s", name, most)
}
