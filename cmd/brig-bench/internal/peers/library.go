package peers

import (
	"context"
	"fmt"

	"brig/cmd/brig-bench/internal/result"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// ahead is how many jails, or network namespaces, a Runner keeps ready: enough for the most clients at once.
const ahead = 16

// libraries returns the contenders that use package nsjail in this process. A Runner lives as long as the job.
func libraries() (tools []*Tool) {
	const inProcess = "in the caller's process: no program is started for a jail but the payload"
	for _, l := range []struct {
		name, differs string
		options       nsjail.RunnerOptions
		system        spec.System
	}{
		{name: "brig Runner"},
		{name: "brig Runner, shared", system: spec.SystemShared, differs: bindsUsr},
		{name: "brig Runner, pool", options: nsjail.RunnerOptions{Pool: ahead},
			differs: "network namespaces are made ahead, and jails of a kind that has started before, each for one use"},
		{name: "brig Runner, pool with reuse", options: nsjail.RunnerOptions{Pool: ahead, Reuse: true},
			differs: "as with the pool; the network namespace of a jail that has not used it serves another one"},
	} {
		t := &Tool{Info: result.Tool{Name: l.name, Differs: []string{inProcess}}, Limits: true, Binds: true}
		if l.differs != "" {
			t.Info.Differs = append(t.Info.Differs, l.differs)
		}
		t.Prepare = func(j Job) (*Ready, error) {
			r, err := nsjail.NewRunnerWith(l.options)
			if err != nil {
				return nil, err
			}
			return &Ready{Close: r.Close, Start: func(s Streams) (*Running, error) { return within(r, j, l.system, s) }}, nil
		}
		tools = append(tools, t)
	}
	return tools
}

func within(r *nsjail.Runner, j Job, system spec.System, s Streams) (*Running, error) {
	ctx, cancel := context.WithCancel(context.Background())
	jail := specOf(j)
	jail.Rootfs.System = system
	c := r.CommandSpec(ctx, jail)
	c.Stdin, c.Stdout = s.In, s.Out
	if err := c.Start(); err != nil {
		cancel()
		return nil, err
	}
	return &Running{Kill: cancel, Wait: func() error {
		defer cancel()
		r, err := c.Wait()
		if err == nil && r.Status != nsjail.StatusOK {
			err = fmt.Errorf("status %s, exit code %d", r.Status, r.ExitCode)
		}
		return err
	}}, nil
}
