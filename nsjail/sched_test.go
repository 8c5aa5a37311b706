package nsjail

import (
	"runtime"
	"strings"
	"testing"

	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// A Runner that is made by a real-time thread makes ordinary jails, from its launchers, its parked jails and the host's
// tree.
func TestSchedulingOfRunner(t *testing.T) {
	runtime.LockOSThread() // for good: the thread ends with the test
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		t.Skip(err)
	}
	for name, o := range map[string]RunnerOptions{"pool": {Pool: 1}, "no pool": {}, "cold": {Cold: true}} {
		r := runnerWith(t, o)
		for range 2 {
			c := r.shell("read x < /proc/self/stat; set -- $x; echo ${19} ${41} $(cat /proc/self/oom_score_adj /proc/1/oom_score_adj)")
			c.Spec.Limits.Wall = spec.Duration(20e9)
			out, result, err := c.Output()
			if f := strings.Fields(string(out)); err != nil || result.Status != StatusOK || len(f) != 4 || f[1] != "0" || f[2] != "1000" || f[3] != "1000" {
				t.Errorf("%s: policy and scores %q (%v, %v); want 0 1000 1000", name, out, result, err)
			}
		}
	}
}
