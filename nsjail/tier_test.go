package nsjail

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"brig/internal/sys"
	"brig/internal/test/must"
	"brig/landlock"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// chains leaves a process that sleeps and others, as many as its last argument less one, that fork and exit without end,
// each in a session of its own.
const chains = `
import os, sys, time
for n in range(int(sys.argv[3])):
    if os.fork() == 0:
        os.setsid()
        while n:
            try:
                if os.fork():
                    os._exit(0)
            except OSError:
                pass
        time.sleep(1000)
print("up", flush=True)
time.sleep(float(sys.argv[2]))
`

// TestTierEndsAll: without a pid namespace all processes end with the payload, however they fork. Only if init itself is
// killed from outside some can go on, and the payload is not among them.
func TestTierEndsAll(t *testing.T) {
	if landlock.ABI() < landlock.ScopeABI {
		t.Skipf("Landlock of ABI %d has no scope for signals", landlock.ABI())
	}
	for name, killed := range map[string]bool{"by the payload's end": false, "init killed": true} {
		t.Run(name, func(t *testing.T) {
			mark, seconds, daemons := fmt.Sprintf("brig-tier-%d-%v", os.Getpid(), killed), "0.2", "4"
			if killed { // without those that fork, which nobody could kill by their numbers
				seconds, daemons = "1000", "1"
			}
			c := CommandContext(context.Background(), "python3", "-c", chains, mark, seconds, daemons)
			c.Spec.Tier = spec.TierProcess // without a control group, which would end them, too
			up, w, err := os.Pipe()
			must.Do(t, err)
			defer up.Close()
			c.Stdout = w
			must.Do(t, c.Start())
			w.Close()
			must.Get(up.Read(make([]byte, 8)))(t)
			payload, err := unix.PidfdOpen(sys.Descendants(c.Pid())[0], 0)
			must.Do(t, err)
			defer unix.Close(payload)
			if killed {
				must.Do(t, unix.Kill(c.Pid(), unix.SIGKILL))
			}
			must.Get(c.Wait())(t)
			if n, err := unix.Poll([]unix.PollFd{{Fd: int32(payload), Events: unix.POLLIN}}, 10000); n != 1 {
				t.Errorf("the payload has outlived init: %d, %v", n, err)
			}
			left := marked(t, mark)
			if !killed && len(left) > 0 {
				t.Errorf("%d processes are left: %v", len(left), left)
			}
			if killed && len(left) == 0 {
				t.Error("nothing is left: the test cannot tell the difference")
			}
			for end := time.Now().Add(20 * time.Second); killed && len(left) > 0 && time.Now().Before(end); left = marked(t, mark) {
				for _, pid := range left {
					_ = unix.Kill(pid, unix.SIGKILL)
				}
			}
		})
	}
}

// marked returns the processes with an argument, without those that have ended.
func marked(t *testing.T, mark string) (pids []int) {
	t.Helper()
	files := must.Get(filepath.Glob("/proc/[0-9]*/cmdline"))(t)
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && bytes.Contains(text, []byte("\x00"+mark+"\x00")) {
			pid := must.Get(strconv.Atoi(filepath.Base(filepath.Dir(f))))(t)
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestTierInARunner: a Runner with pools makes such jails from the host's root, several at a time.
func TestTierInARunner(t *testing.T) {
	if landlock.ABI() < landlock.ScopeABI {
		t.Skipf("Landlock of ABI %d has no scope for signals", landlock.ABI())
	}
	r := runnerWith(t, RunnerOptions{Pool: 2})
	ended := make(chan error)
	for range 3 {
		go func() {
			c := r.CommandSpec(context.Background(), spec.Spec{Args: []string{"sh", "-c", "echo x >$TMPDIR/f"}, Tier: spec.TierProcess})
			res, err := c.Run()
			if err == nil && res.Status != StatusOK {
				err = fmt.Errorf("%+v", res)
			}
			ended <- err
		}()
	}
	for range 3 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
