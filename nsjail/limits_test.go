package nsjail

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"brig/cgroup"
	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"
)

// The stories of limits_*_test.go run as root, as an ordinary user to whom no control group is delegated, and as one
// with a group of its own (asuser.Delegate), in whatever layout the machine has. A story whose limit the caller
// cannot have is skipped with Resolve's reason; TestLimitsOfThisCaller sees that this happens only where it must.

// needsLimits skips a test whose limits this caller cannot have.
func needsLimits(t *testing.T, c *Cmd) *Cmd {
	t.Helper()
	h, err := host.Look(&c.Spec)
	must.Do(t, err)
	defer h.Close()
	p, err := plan.Resolve(&c.Spec, h)
	if e, ok := errors.AsType[*spec.Error](err); ok && e.Fault == spec.FaultHost && strings.HasPrefix(e.Op, "limits.") {
		t.Skipf("%s: %s", e.Op, e.Detail)
	}
	must.Do(t, err)
	if p.Group == nil || c.Spec.Limits.Processes > 0 && !strings.HasPrefix(p.Enforced["processes"].String(), "cgroup") {
		t.Skipf("no control group: %v", h.Cgroup)
	}
	return c
}

// tight is a shell script with a limit on memory, so that it has a control group.
func tight(t *testing.T, script string) *Cmd {
	t.Helper()
	c := shell(script)
	c.Spec.Limits.Memory = 64 << 20
	return needsLimits(t, c)
}

// python is a jail that runs a script with python3.
func python(t *testing.T, script string) *Cmd {
	t.Helper()
	needs(t, "python3")
	return Command("python3", "-c", script)
}

// wantStatus requires a status, and that these limits were met, whatever else was.
func wantStatus(t *testing.T, r *Result, want Status, hit ...string) {
	t.Helper()
	if r.Status != want {
		t.Errorf("status %s, want %s: code %d signal %q hit %v usage %+v", r.Status, want, r.ExitCode, r.Signal, r.LimitsHit, r.Usage)
	}
	for _, name := range hit {
		if !slices.Contains(r.LimitsHit, name) {
			t.Errorf("limits_hit is %v, which lacks %s: %+v", r.LimitsHit, name, r.Usage)
		}
	}
}

// neighbour is another jail, with a limit of its own, that outlives what the test does.
func neighbour(t *testing.T) (check func()) {
	t.Helper()
	c := shell("read line; echo still here")
	c.Spec.Limits.Memory = 64 << 20
	in, ours, err := os.Pipe()
	must.Do(t, err)
	var out strings.Builder
	c.Stdin, c.Stdout = in, &out
	must.Do(t, c.Start())
	in.Close()
	return func() {
		t.Helper()
		if _, err := io.WriteString(ours, "\n"); err != nil {
			t.Error(err)
		}
		ours.Close()
		if r, err := c.Wait(); err != nil || r.Status != StatusOK || out.String() != "still here\n" || len(r.LimitsHit) > 0 {
			t.Errorf("the neighbour: %+v %v %q", r, err, out.String())
		}
	}
}

// TestLimitsOfThisCaller: the other stories are skipped only where there is nothing to be had.
func TestLimitsOfThisCaller(t *testing.T) {
	l := must.Get(cgroup.Detect(""))(t)
	t.Log(l)
	if asuser.Delegated() && !l.Delegated {
		t.Errorf("the groups of the suite are not delegated: %s", l.Why)
	}
	p := cgroup.Resolve(&cgroup.Limits{Memory: 64 << 20, Processes: 10, CPUQuota: 50e6, CPUTime: true}, l)
	for _, name := range []string{"memory", "processes", "cpus", "cpu_time"} {
		switch by, why := p.Enforced[name], p.Missing[name]; {
		case l.Delegated && by == "" && !strings.Contains(why, "is not available") && !strings.Contains(why, "is mounted"):
			t.Errorf("%s: %s, and the group is delegated", name, why)
		case !l.Delegated && by != "" && os.Geteuid() != 0:
			t.Errorf("%s by %s, and the group is not delegated", name, by)
		}
	}
}

// TestLimitsWithoutAGroup: a limit that cannot be held is refused, and nothing has run; or it is given up, and the
// report notes it.
func TestLimitsWithoutAGroup(t *testing.T) {
	for _, set := range []struct {
		name  string
		limit func(*spec.Limits)
	}{
		{"memory", func(l *spec.Limits) { l.Memory = 64 << 20 }}, {"cpus", func(l *spec.Limits) { l.CPUs = 0.5 }},
		{"cpu_weight", func(l *spec.Limits) { l.CPUWeight = 50 }}, {"cpuset", func(l *spec.Limits) { l.CPUSet = "0" }},
		{"io_weight", func(l *spec.Limits) { l.IOWeight = 50 }}, {"cgroup_file", func(l *spec.Limits) { l.Cgroup = []string{"pids.max=5"} }},
	} {
		c := shell("echo ran")
		set.limit(&c.Spec.Limits)
		h := must.Get(host.Look(&c.Spec))(t)
		h.Close()
		if h.Cgroup.Delegated || h.Cgroup.Denied[""] == "" && h.Cgroup.Mode != cgroup.None {
			t.Skip("this caller has groups: ", h.Cgroup)
		}
		e := startError(t, c)
		if e.Fault != spec.FaultHost || e.Op != plan.GroupPath(set.name) || !strings.HasPrefix(e.Detail.String(), "control group: ") || !strings.Contains(e.Remedy.String(), `optional: ["`+set.name+`"]`) {
			t.Errorf("%s: %+v", set.name, e)
		}
		c = shell("echo ran")
		set.limit(&c.Spec.Limits)
		c.Spec.Optional = []string{set.name}
		if out, r := mustRun(t, c); out != "ran\n" || !strings.HasPrefix(r.Enforced[set.name].String(), "not enforced: ") || r.Usage.MemoryPeak >= 0 {
			t.Errorf("%s, optional: %q %+v", set.name, out, r)
		}
	}
}
