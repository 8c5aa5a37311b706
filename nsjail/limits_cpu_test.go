package nsjail

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"brig/cgroup"
	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// spinning runs four threads for 2 s. Hashing lets go of python's lock.
const spinning = `
import hashlib, os, threading, time
block, end = b"x" * (1 << 20), time.monotonic() + 2
def spin():
    while time.monotonic() < end: hashlib.sha256(block).digest()
for t in [threading.Thread(target=spin) for _ in range(4)]: t.start()`

// TestLimitCPUs: half a processor is half a processor, for all threads together. The weight keeps a busy machine from
// giving the jail less than its limit, as far as the group above it gets that much.
func TestLimitCPUs(t *testing.T) {
	t.Parallel()
	for range 3 {
		c := python(t, spinning)
		c.Spec.Limits.CPUs, c.Spec.Limits.CPUWeight = 0.5, 10000
		_, r := mustRun(t, needsLimits(t, c))
		u := &r.Usage
		used, wall := time.Duration(u.User+u.System), time.Duration(u.Wall)
		t.Logf("%s of processor time in %s; throttled for %s in %d of %d periods", used, wall, time.Duration(u.Throttled), u.ThrottledPeriods, u.Periods)
		if used > 1100*time.Millisecond+(wall-2*time.Second)/2 || u.Periods < 10 || u.ThrottledPeriods > u.Periods {
			t.Fatalf("%s of processor time in %s, want at most 1.1 s in 2 s: %+v", used, wall, u)
		}
		if used >= 900*time.Millisecond {
			wantStatus(t, r, StatusOK, "cpus")
			return
		}
		if u.ThrottledPeriods > u.Periods*9/10 {
			t.Fatalf("%s of processor time in %s, want at least 0.9 s in 2 s, and it was throttled all the time", used, wall)
		}
	}
	t.Skip("others keep the machine so busy that the jail does not get what it may have")
}

// children is a payload that starts short processes, one after the other. Each takes 30 ms of processor time; the
// argument is their number.
const children = `
import os, sys, time
for i in range(int(sys.argv[1])):
    if os.fork() == 0:
        while time.process_time() < 0.03: pass
        os._exit(0)
    os.wait()
    print(i + 1, flush=True)`

// TestLimitCPUTimeOfTree: the processor time of all processes counts together, though each is far from the limit. Where
// there is no group the report notes that each process is counted by itself.
func TestLimitCPUTimeOfTree(t *testing.T) {
	t.Parallel()
	_, r := mustRun(t, python(t, "pass"))
	limit := time.Second + 2*time.Duration(r.Usage.User+r.Usage.System).Round(time.Second) // seconds on an emulated machine
	all := int(limit / (20 * time.Millisecond))                                            // together half as much again as the limit
	c := python(t, children)
	c.Spec.Args = append(c.Spec.Args, strconv.Itoa(all))
	c.Spec.Limits.CPUTime = spec.Duration(limit)
	out, r := mustRun(t, c)
	done := strings.Count(out, "\n")
	by := r.Enforced["cpu_time"]
	if !strings.HasPrefix(by.String(), limit.String()+" by cgroup") {
		if r.Status != StatusOK || done != all || !strings.Contains(by.String(), "RLIMIT_CPU "+limit.String()+" for each process by itself") {
			t.Errorf("%s, %d children, by %q", r.Status, done, by)
		}
		return
	}
	wantStatus(t, r, StatusCPU, "cpu_time")
	used := time.Duration(r.Usage.User + r.Usage.System)
	t.Logf("%s of processor time after %d children", used, done)
	if done < 3 || done == all || used < limit || used > limit+time.Second {
		t.Errorf("%s of processor time, %d children", used, done)
	}
}

// TestLimitCPUTimeIsNotWall: a payload that sleeps uses none.
func TestLimitCPUTimeIsNotWall(t *testing.T) {
	t.Parallel()
	c := shell("sleep 1000")
	c.Spec.Limits.CPUTime, c.Spec.Limits.Wall = spec.Duration(time.Second), spec.Duration(1500*time.Millisecond)
	_, r := mustRun(t, c)
	wantStatus(t, r, StatusTimeout, "wall")
	if len(r.LimitsHit) != 1 || !r.TimedOut {
		t.Errorf("%v", r.LimitsHit)
	}
	c = shell("sleep 1.2")
	c.Spec.Limits.CPUTime = spec.Duration(time.Second)
	if _, r = mustRun(t, c); r.Status != StatusOK || len(r.LimitsHit) > 0 {
		t.Errorf("%s %v after %s", r.Status, r.LimitsHit, time.Duration(r.Usage.Wall))
	}
}

// TestLimitCPUSet: the processors of the set and no others, and one that the machine has not is the caller's error.
func TestLimitCPUSet(t *testing.T) {
	l := must.Get(cgroup.Detect(""))(t)
	first, _, _ := strings.Cut(strings.ReplaceAll(l.CPUs, "-", ","), ",")
	c := python(t, "import os; print(sorted(os.sched_getaffinity(0)))")
	c.Spec.Limits.CPUSet = first
	wantOutput(t, needsLimits(t, c), "["+first+"]")
	c = shell("true")
	c.Spec.Limits.CPUSet = "9999"
	want := fmt.Sprintf("9999 is not among the processors that a jail may have here: %s", l.CPUs)
	if e := startError(t, c); e.Fault != spec.FaultCaller || e.Op != "limits.cpuset" || e.Detail.String() != want {
		t.Errorf("%+v", e)
	}
}
