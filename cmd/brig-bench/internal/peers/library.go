package peers

import (
	"context"
	"errors"
	"fmt"

	"brig/cmd/brig-bench/internal/result"
	"brig/nsjail"
)

// ahead is how many jails, or network namespaces, a Runner keeps ready: enough for the most clients at once.
const ahead = 16

// libraries are package nsjail within this process. A Runner lives as long as the job.
func libraries() (tools []*Tool) {
	const inProcess = "in the caller's process: no program is started for a jail but the payload"
	for _, l := range []struct {
		name, differs string
		options       nsjail.RunnerOptions
		prestart      int
	}{
		{name: "brig Runner"},
		{name: "brig Runner, pool", options: nsjail.RunnerOptions{Pool: ahead},
			differs: "network namespaces are made ahead, and jails of a kind that has started before, each for one use"},
		{name: "brig Runner, pool with reuse", options: nsjail.RunnerOptions{Pool: ahead, Reuse: true},
			differs: "as with the pool; the network namespace of a jail that has not used it serves another one"},
		{name: "brig Runner, prestarted", prestart: ahead, differs: "whole jails are made ahead, each for one use"},
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
			if l.prestart > 0 {
				if err := r.Prestart(spec(j), l.prestart); err != nil {
					return nil, errors.Join(err, r.Close())
				}
			}
			return &Ready{Close: r.Close, Start: func(s Streams) (Running, error) { return within(r, j, s) }}, nil
		}
		tools = append(tools, t)
	}
	return tools
}

// spec is a job as the library takes it.
func spec(j Job) nsjail.Spec {
	s := nsjail.Spec{Args: j.Args}
	s.Limits.Memory, s.Limits.CPUs, s.Limits.Processes = nsjail.Bytes(j.Limits.Memory), j.Limits.CPUs, j.Limits.Processes
	for _, b := range j.Binds {
		m := nsjail.Mount{Type: nsjail.MountBind, Source: b.Source, Target: b.Target, Writable: b.Writable}
		s.Mounts = append(s.Mounts, m)
	}
	return s
}

// jailed is a running jail of the library.
type jailed struct {
	cmd    *nsjail.Cmd
	cancel context.CancelFunc
}

func within(r *nsjail.Runner, j Job, s Streams) (Running, error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &jailed{r.CommandSpec(ctx, spec(j)), cancel}
	p.cmd.Stdin, p.cmd.Stdout = s.In, s.Out
	if err := p.cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	return p, nil
}

func (p *jailed) Kill() { p.cancel() }

func (p *jailed) Wait() error {
	defer p.cancel()
	r, err := p.cmd.Wait()
	switch {
	case err != nil:
		return err
	case r.Status != nsjail.StatusOK:
		return fmt.Errorf("status %s, exit code %d", r.Status, r.ExitCode)
	}
	return nil
}
