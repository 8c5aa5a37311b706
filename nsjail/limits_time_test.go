package nsjail

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// TestLimitIdle: silence ends a jail, and output resets the clock.
func TestLimitIdle(t *testing.T) {
	t.Parallel()
	c := shell("echo a; sleep 1000")
	c.Spec.Limits.Idle = spec.Duration(200 * time.Millisecond)
	out, r := mustRun(t, c)
	wantStatus(t, r, StatusTimeout, "idle")
	if out != "a\n" || !r.TimedOut || len(r.LimitsHit) != 1 {
		t.Errorf("%q %v", out, r.LimitsHit)
	}
	for _, stream := range []string{"1", "2"} {
		c = shell("for i in 1 2 3 4 5; do echo $i >&" + stream + "; sleep 0.6; done")
		c.Spec.Limits.Idle = spec.Duration(2400 * time.Millisecond)
		if out, r := mustRun(t, c); r.Status != StatusOK || strings.Count(out, "\n") != 5 {
			t.Errorf("stream %s: %s %v %q", stream, r.Status, r.LimitsHit, out)
		}
	}
}

// TestLimitGrace: SIGTERM comes first, and a handler may save its work and choose its exit code; the status stays.
func TestLimitGrace(t *testing.T) {
	t.Parallel()
	dir := shared(t, 1234)
	c := shell("trap 'echo saved >/output/f; exit 3' TERM; sleep 1000 & wait")
	c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/output", Writable: true}}
	c.Spec.Limits.Wall, c.Spec.Limits.Grace = spec.Duration(time.Second), spec.Duration(time.Minute)
	_, r := mustRun(t, c)
	wantStatus(t, r, StatusTimeout, "wall")
	if saved, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(saved) != "saved\n" || r.ExitCode != 3 || !r.TimedOut {
		t.Errorf("%q %v, exit code %d", saved, err, r.ExitCode)
	}
}

// TestLimitGraceIgnored: who ignores SIGTERM is killed when the grace is over.
func TestLimitGraceIgnored(t *testing.T) {
	t.Parallel()
	for _, noInit := range []bool{false, true} {
		c := shell("trap '' TERM; echo ready; while :; do sleep 0.05; done")
		c.Spec.NoInit = noInit
		c.Spec.Limits.Idle, c.Spec.Limits.Grace = spec.Duration(400*time.Millisecond), spec.Duration(400*time.Millisecond)
		_, r := mustRun(t, c)
		wantStatus(t, r, StatusTimeout, "idle")
		if wall := time.Duration(r.Usage.Wall); wall < 800*time.Millisecond || r.ExitCode != -1 || r.Signal != "SIGKILL" {
			t.Errorf("no init %v: after %s, exit code %d, signal %q", noInit, wall, r.ExitCode, r.Signal)
		}
	}
}

// TestLimitOutput: a jail that writes more ends with the cause output, and exactly the limit is delivered, of both
// streams together.
func TestLimitOutput(t *testing.T) {
	for _, script := range []string{"cat /dev/zero", "cat /dev/zero >&2", "cat /dev/zero & cat /dev/zero >&2", "cat /dev/zero & exit 0"} {
		var out, errs bytes.Buffer
		c := shell(script + "; sleep 1000")
		c.Stdout, c.Stderr = &out, &errs
		c.Spec.Limits.OutputLimit = 100000
		r := must.Get(c.Run())(t)
		if script == "cat /dev/zero & exit 0" && r.Status == StatusOK { // the payload may be gone before it has said so much
			continue
		}
		wantStatus(t, r, StatusOutput, "output")
		if n := out.Len() + errs.Len(); n != 100000 || r.ExitCode != -1 && script != "cat /dev/zero & exit 0" {
			t.Errorf("%s: %d bytes, exit code %d", script, n, r.ExitCode)
		}
	}
}

// TestLimitOutputOfTheQuick: a payload that has ended before its output is counted has said too much all the same.
func TestLimitOutputOfTheQuick(t *testing.T) {
	for range 20 {
		c := shell("printf 12345678901; exit 7")
		var out bytes.Buffer
		c.Stdout = &out
		c.Spec.Limits.OutputLimit = 10
		r := must.Get(c.Run())(t)
		if wantStatus(t, r, StatusOutput, "output"); out.String() != "1234567890" || r.ExitCode != 7 && r.ExitCode != -1 {
			t.Errorf("%q, exit code %d", out.String(), r.ExitCode)
		}
	}
}

// TestReaderThatGoes: the payload meets a reader that has gone as it would without brig in between, by SIGPIPE.
func TestReaderThatGoes(t *testing.T) {
	c := shell("while :; do echo x; done")
	c.Stdout = gone{}
	c.Spec.Limits.OutputLimit = 1 << 30
	r := must.Get(c.Run())(t)
	if r.Status != StatusSignal || r.Signal != "SIGPIPE" {
		t.Errorf("%+v", r)
	}
}

// gone is a pipe without a reader.
type gone struct{}

func (gone) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
}

// TestLimitOutputKept: what --max-output drops is counted and named, and ends nothing.
func TestLimitOutputKept(t *testing.T) {
	c := shell("echo 0123456789; echo err >&2")
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	c.Spec.Limits.Output, c.Spec.Limits.OutputLimit = 4, 1000
	r := must.Get(c.Run())(t)
	wantStatus(t, r, StatusOK, "output")
	if out.String() != "019\n" || errs.String() != "err\n" || r.Output != (Output{StdoutBytes: 11, StdoutDropped: 7, StderrBytes: 4}) {
		t.Errorf("%q %q %+v", out.String(), errs.String(), r.Output)
	}
}
