package cgroup

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"
)

// TestJoinTiming measures, in pairs, what joining a group costs: born into it by clone3(2) CLONE_INTO_CGROUP, or moved
// there by a write to cgroup.procs, after which only the process may go on. The write waits for a grace period of the
// kernel unless one has just ended, so the machine idles before each. It prints; time is nothing to assert.
func TestJoinTiming(t *testing.T) {
	l, err := Detect("")
	if err != nil || l.Dir == "" || l.Denied[""] != "" {
		t.Skipf("no version 2 tree that a group could be made in: %v", l)
	}
	p := Resolve(&Limits{Files: []File{{"cgroup.max.depth", "1"}}}, l)
	g, err := p.Create()
	must.Do(t, err)
	defer g.Remove()
	rounds := 8
	if n, err := strconv.Atoi(os.Getenv("BRIG_JOIN_ROUNDS")); err == nil {
		rounds = n
	}
	var born, moved, ratios []float64
	for range rounds {
		b, m := ms(t, func() *exec.Cmd { return start(t, g.Into()) }), ms(t, func() *exec.Cmd {
			cmd := start(t, -1)
			must.Do(t, putAt(g.Into(), "cgroup.procs", strconv.Itoa(cmd.Process.Pid)))
			return cmd
		})
		born, moved, ratios = append(born, b), append(moved, m), append(ratios, m/b)
	}
	t.Logf("after 150 ms of idling, medians of %d pairs: clone3 into the group %.2f ms, clone and a write to cgroup.procs %.2f ms, ratio %.1f",
		rounds, median(born), median(moved), median(ratios))
}

// start starts a process that ends at the end of its input; ms measures up to here.
func start(t *testing.T, into int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/cat")
	in := must.Get(cmd.StdinPipe())(t)
	if into >= 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: into}
	}
	must.Do(t, cmd.Start())
	t.Cleanup(func() { in.Close() })
	return cmd
}

// ms idles, as a server does between two requests, and measures.
func ms(t *testing.T, f func() *exec.Cmd) float64 {
	t.Helper()
	time.Sleep(150 * time.Millisecond)
	begin := time.Now()
	cmd := f()
	d := time.Since(begin)
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	return float64(d.Microseconds()) / 1000
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
