package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"brig/nsjail"
)

// TestForkedStartsAtOnce: a program with a forked launcher may start several jails at once, also while the launcher
// guards a jail without init. The program is this test's binary: its constructor forks a launcher as for brig run.
func TestForkedStartsAtOnce(t *testing.T) {
	for _, what := range []string{"alone", "guarded"} {
		dir := t.TempDir()
		if out, err := exec.Command("/proc/self/exe", "run", what, dir).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
		names := []string{"0", "1", "2", "3", "guarded"}
		if what == "alone" {
			names = names[:4]
		}
		for _, name := range names {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

// startsAtOnce makes four jails at once, which each write a file to dir. If guarded, a jail without init begins before
// them and ends after them.
func startsAtOnce(what, dir string) error {
	r, err := nsjail.ForkedRunner()
	if err != nil {
		return err
	}
	jail := func(command string) *nsjail.Cmd {
		return r.CommandSpec(context.Background(), nsjail.Spec{Args: []string{"sh", "-c", command}, Workdir: "/work",
			Mounts: []nsjail.Mount{{Type: nsjail.MountBind, Source: dir, Target: "/work", Writable: true}}})
	}
	ended := func(result *nsjail.Result, err error) error {
		if err == nil && result.ExitCode != 0 {
			err = fmt.Errorf("%+v", result)
		}
		return err
	}
	first := jail("read line; echo x >guarded")
	first.Spec.NoInit = true
	input, release := io.Pipe()
	first.Stdin = input
	if what == "guarded" {
		if err := first.Start(); err != nil {
			return errors.Join(err, r.Close())
		}
	}
	const n = 4
	errs := make(chan error, n)
	for i := range n {
		go func() { errs <- ended(jail(fmt.Sprintf("echo x >%d", i)).Run()) }()
	}
	for range n {
		err = errors.Join(err, <-errs)
	}
	if what == "guarded" {
		_, werr := io.WriteString(release, "go\n")
		err = errors.Join(err, werr, ended(first.Wait()))
	}
	return errors.Join(err, r.Close())
}
