package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
	"brig/nsjail"
)

const (
	probeTarget = "/brig-bench" // where a jail shows the benchmark's own program
	shared      = "/shared"     // and a writable directory of the host's
	unfiltered  = "brig Runner, no filter"
)

// asked is a process that answers from some place, and says where it has what the jail calls /tmp and /work.
type asked struct {
	name   string
	client *load.Client
	there  func(path string) string
}

// probes are such processes.
type probes struct {
	env    *Env
	work   string // what the jails show as shared
	closes []func() error
}

// open starts a probe in each place: without a jail first, then with each tool, then with brig without its filter. With a
// writable directory there is no such jail: brig puts a filter of its own in the place of one that is left out.
func (p *probes) open(ctx context.Context, writable bool) (all []*asked, refused []result.Row, err error) {
	same := func(path string) string { return path }
	add := func(name string, start func() (*load.Client, error), there func(string) string) {
		p.env.say("starting %s", name)
		if c, err := start(); err != nil {
			refused = append(refused, result.Row{Tool: name, Error: err.Error()})
		} else {
			all = append(all, &asked{name, c, there})
		}
	}
	for _, t := range p.env.Tools {
		if t.Kind == peers.Bare {
			there, err := p.outside()
			if err != nil {
				return nil, nil, err
			}
			add(t.Info.Name, func() (*load.Client, error) { return p.unjailed(ctx) }, there)
		}
	}
	for _, t := range p.env.Tools {
		if t.Kind != peers.Bare && t.Binds {
			add(t.Info.Name, func() (*load.Client, error) { return p.within(ctx, t, writable) }, same)
		}
	}
	if !writable {
		add(unfiltered, func() (*load.Client, error) { return p.unfiltered(ctx) }, same)
	}
	return all, refused, ctx.Err()
}

// outside gives the host's counterparts of the jail's directories.
func (p *probes) outside() (func(string) string, error) {
	tmpfs, err := os.MkdirTemp("/dev/shm", "brig-bench-")
	if err != nil {
		return nil, err
	}
	p.closes = append(p.closes, func() error { return os.RemoveAll(tmpfs) })
	return func(path string) string {
		switch path {
		case shared:
			return p.work
		case "/tmp":
			return tmpfs
		}
		return path
	}, nil
}

// unjailed is a probe without a jail.
func (p *probes) unjailed(ctx context.Context) (*load.Client, error) {
	c, err := load.Self(ctx, load.Config{})
	if err == nil {
		p.closes = append(p.closes, c.Close)
	}
	return c, err
}

// within is a probe in a tool's jail.
func (p *probes) within(ctx context.Context, t *peers.Tool, writable bool) (*load.Client, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	job := peers.Job{Args: []string{probeTarget, load.Subcommand}, Binds: []peers.Bind{{Source: exe, Target: probeTarget}}}
	if writable {
		job.Binds = append(job.Binds, peers.Bind{Source: p.work, Target: shared, Writable: true})
	}
	ready, err := t.Prepare(job)
	if err != nil {
		return nil, err
	}
	p.closes = append(p.closes, ready.Close)
	return p.client(ctx, func(in, out *os.File) (wait func() error, kill func(), err error) {
		r, err := ready.Start(peers.Streams{In: in, Out: out})
		if err != nil {
			return nil, nil, err
		}
		return r.Wait, r.Kill, nil
	})
}

// unfiltered is a probe in brig's jail with all system calls allowed.
func (p *probes) unfiltered(ctx context.Context) (*load.Client, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r, err := p.env.Runner(nsjail.RunnerOptions{})
	if err != nil {
		return nil, err
	}
	p.closes = append(p.closes, r.Close)
	return p.client(ctx, func(in, out *os.File) (func() error, func(), error) {
		ctx, kill := context.WithCancel(ctx)
		cmd := r.CommandSpec(ctx, nsjail.Spec{Args: []string{probeTarget, load.Subcommand}, Seccomp: "unconfined",
			Mounts: []nsjail.Mount{{Type: nsjail.MountBind, Source: exe, Target: probeTarget}}})
		cmd.Stdin, cmd.Stdout = in, out
		if err := cmd.Start(); err != nil {
			kill()
			return nil, nil, err
		}
		return func() error {
			defer kill()
			res, err := cmd.Wait()
			if err == nil && res.Status != nsjail.StatusOK {
				err = fmt.Errorf("the probe ended with %s", res.Status)
			}
			return err
		}, kill, nil
	})
}

// client starts a probe between two pipes. Its death is a pipe that ends: the other ends are closed here at once.
func (p *probes) client(ctx context.Context, start func(in, out *os.File) (wait func() error, kill func(), err error)) (*load.Client, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), theirIn.Close())
	}
	wait, kill, err := start(theirIn, theirOut)
	err = errors.Join(err, theirIn.Close(), theirOut.Close())
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	stop := context.AfterFunc(ctx, kill)
	end := sync.OnceValue(func() error {
		defer stop()
		return errors.Join(wait(), out.Close())
	})
	c := load.NewClient(in, out, end)
	p.closes = append(p.closes, c.Close)
	if _, err = c.Ask(load.Request{Op: "getppid", N: 1}); err != nil { // a tool that starts and fails says why when it is awaited
		p.closes = p.closes[:len(p.closes)-1]
		if cerr := c.Close(); cerr != nil {
			err = cerr
		}
		return nil, err
	}
	return c, nil
}

// close ends the probes, the last one first.
func (p *probes) close() (err error) {
	for i := len(p.closes) - 1; i >= 0; i-- {
		err = errors.Join(err, p.closes[i]())
	}
	return err
}
