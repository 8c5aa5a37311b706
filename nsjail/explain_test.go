package nsjail

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/internal/program"
	"brig/internal/test/must"
	"brig/internal/test/osroot"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"
)

// explainedSpecs are one of each class of what a Spec asks for.
func explainedSpecs(t *testing.T) []spec.Spec {
	dir := t.TempDir()
	bind := spec.Mount{Type: spec.MountBind, Source: dir, Target: "/input"}
	work := spec.Mount{Type: spec.MountBind, Source: dir, Target: "/work", Writable: true}
	image := spec.Rootfs{Path: "/"}
	list := []spec.Spec{{}, {NoInit: true}, {Net: spec.NetNone}, {Net: spec.NetHost},
		{Net: spec.NetEgress, Egress: policyOf(t, "example.com")}, {User: "0:0"}, {Hostname: "box"},
		{Seccomp: "unconfined"}, {Seccomp: "unconfined", NoInit: true}, {TTY: true}, {TTY: true, NoInit: true},
		{Workdir: "/tmp", Env: []string{"A=b"}}, {Mounts: []spec.Mount{bind}}, {Mounts: []spec.Mount{work}},
		{Mounts: []spec.Mount{work, bind}, NoInit: true}, {Mounts: []spec.Mount{{Type: spec.MountTmpfs, Target: "/x"}}},
		{Mounts: []spec.Mount{{Type: spec.MountData, Content: "x", Target: "/etc/x"}}},
		{Mounts: []spec.Mount{work}, Net: spec.NetNone}, {Rootfs: image}, {Rootfs: image, Mounts: []spec.Mount{work}},
		{Rootfs: image, NoInit: true}, {Optional: []string{"keyring"}}, {Etc: []string{osroot.PublicEtc(t)}},
		{Limits: spec.Limits{Wall: spec.Duration(time.Minute), Output: 100}},
		{Limits: spec.Limits{Rlimits: map[string]spec.Rlimit{"nofile": {Soft: 100, Hard: 100}}}},
		{Limits: spec.Limits{Processes: 20}}, {Limits: spec.Limits{Processes: 20}, NoInit: true},
		{Limits: spec.Limits{CPUTime: spec.Duration(time.Second)}, Optional: []string{"cpu_time"}},
		{Limits: spec.Limits{Memory: 64 << 20}, Optional: []string{"memory", "memory_swap", "memory_sockets"}},
		{Limits: spec.Limits{Memory: 64 << 20}, Mounts: []spec.Mount{work},
			Optional: []string{"memory", "memory_swap", "memory_sockets"}}}
	if cow := []spec.Mount{{Type: spec.MountCOW, Source: dir, Target: "/work"}}; noCOW(t) == "" {
		list = append(list, spec.Spec{Mounts: cow}, spec.Spec{Mounts: cow, Rootfs: image})
	}
	for i := range list {
		list[i].Args = []string{"/bin/true"}
		list[i].Optional = append(list[i].Optional, "processes")
	}
	return list
}

// explained is what Mode.Resolve returns for a Cmd before it starts.
func explained(t *testing.T, c *Cmd, m plan.Mode) *plan.Plan {
	t.Helper()
	h, err := host.Look(&c.Spec)
	must.Do(t, err)
	defer h.Close()
	p, err := m.Resolve(&c.Spec, h)
	if err != nil {
		t.Fatalf("%+v: %v", c.Spec, err)
	}
	return p
}

// same compares a plan with the one that was performed: what a reader sees, and the bytes that the launcher had.
func same(t *testing.T, how string, want, got *plan.Plan) {
	t.Helper()
	if got.String() != want.String() {
		t.Errorf("%s: %+v: run is\n%s\nand explain\n%s", how, *got.Spec, got, want)
	}
	for _, p := range [][2]*program.Program{{want.Prefix, got.Prefix}, {want.Jail, got.Jail}} {
		if p[0] == nil && p[1] == nil {
			continue
		}
		a, err1 := p[0].Encode(want.Request())
		b, err2 := p[1].Encode(got.Request())
		if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: %+v: the programs differ (%v, %v)", how, *got.Spec, err1, err2)
		}
	}
	drop, steps := want.Steps()
	drop2, steps2 := got.Steps()
	if !slices.Equal(steps, steps2) || !slices.Equal(drop, drop2) {
		t.Errorf("%s: %+v: the steps differ", how, *got.Spec)
	}
}

// A Runner performs what Mode.Resolve returns for its mode, whatever the Spec asks for, with and without a prepared
// root, and with jails that were parked before.
func TestExplainIsRun(t *testing.T) {
	cold, warm := runnerWith(t, RunnerOptions{Cold: true}), runnerWith(t, RunnerOptions{})
	for _, s := range explainedSpecs(t) {
		run := func(how string, r *Runner) *Cmd {
			c := r.CommandSpec(context.Background(), *s.Clone())
			if _, err := c.Run(); err != nil {
				t.Fatalf("%s: %+v: %v", how, s, err)
			}
			return c
		}
		c := run("cold", cold)
		same(t, "cold", explained(t, c, cold.own.mode()), c.Plan())
		if !preparable(&s) {
			continue
		}
		c = run("Runner", warm)
		same(t, "Runner", explained(t, c, warm.tree.modes[0]), c.Plan())
		must.Do(t, warm.Prestart(s, 1))
		c = run("prestarted", warm)
		same(t, "prestarted", explained(t, c, warm.tree.modes[0]), c.Plan())
		must.Do(t, warm.Prestart(s, 0))
	}
	pool := runnerWith(t, RunnerOptions{Pool: 2})
	for _, s := range []spec.Spec{{}, {Mounts: []spec.Mount{{Type: spec.MountTmpfs, Target: "/x"}}}} {
		s.Args = []string{"/bin/true"}
		var c *Cmd
		until(t, "a namespace is ready", func() bool {
			c = pool.CommandSpec(context.Background(), s)
			mustRun(t, c)
			return strings.Contains(c.Plan().Enforced["net"].String(), "made ahead")
		})
		same(t, "pool", explained(t, c, pool.tree.modes[1]), c.Plan())
	}
}
