package main

import (
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/long"
	"brig/internal/test/must"
)

// A run that takes longer than a worker may be silent is started once. One whose worker is cut off is started again, and
// the first result counts, also when the worker comes back. One whose worker is stopped goes on elsewhere.
func TestQueueSlowCutAndStopped(t *testing.T) {
	long.Test(t)
	once(t)
	d := dir(t)
	at := "unix:" + d + "/q"
	front := begin(t, nil, "serve", "--listen", "unix:"+d+"/s", "--jetstream", d+"/q", "--slots", "1", "--running", "1",
		"--ack-wait", "1s")
	if _, a := front.run("sleep 2.5; echo slow"); a["stdout"] != "slow\n" || a["queue"].(map[string]any)["attempt"] != 1.0 {
		t.Errorf("a slow run: %v", a)
	}
	hold := front.later("sleep 3600")
	front.state(hold, "running") // the front's own slot is taken
	cut := startWorker(t, at, "--slots", "1", "--running", "1", "--worker-name", "cut", "--drain-timeout", "100ms")
	id := front.later("sleep 1; echo done")
	front.state(id, "running")
	must.Do(t, cut.cmd.Process.Signal(syscall.SIGSTOP)) // nothing of it is heard any more
	other := startWorker(t, at, "--slots", "1", "--running", "1", "--worker-name", "other")
	a := front.ended(id)
	if q := a["queue"].(map[string]any); a["stdout"] != "done\n" || q["worker"] != "other" || q["attempt"] == 1.0 {
		t.Errorf("a run whose worker was cut off: %v", a)
	}
	must.Do(t, cut.cmd.Process.Signal(syscall.SIGCONT))
	soon(t, "the second result is late", func() bool {
		_, m := cut.do("GET", "/metrics", nil)
		text, _ := m["text"].(string)
		return strings.Contains(text, "\nbrigd_queue_late_total 1\n")
	})
	if again := front.ended(id); again["queue"].(map[string]any)["worker"] != "other" {
		t.Errorf("the second result has replaced the first: %v", again)
	}
	other.signal(syscall.SIGTERM)
	other.end()
	id = front.later("sleep 2; echo moved")
	if q := front.state(id, "running")["queue"].(map[string]any); q["worker"] != "cut" {
		t.Fatalf("it runs at %v", q)
	}
	third := startWorker(t, at, "--slots", "1", "--running", "1", "--worker-name", "third")
	cut.signal(syscall.SIGTERM) // its drain timeout is shorter than the run
	cut.end()
	if a := front.ended(id); a["stdout"] != "moved\n" || a["queue"].(map[string]any)["worker"] != "third" {
		t.Errorf("a run whose worker was stopped: %v", a)
	}
	third.signal(syscall.SIGTERM)
	third.end()
}
