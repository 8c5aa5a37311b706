package engine

import (
	"cmp"
	"context"

	"brig/brigd/job"
	"brig/brigd/workspace"
)

// checkLiving refuses fields of a request for a sandbox that are about a living one.
func (r *SandboxRequest) checkLiving() *job.Refusal {
	if r.Living {
		return negative(amount{"memory", r.Memory < 0, "512m"}, amount{"cpus", r.CPUs < 0, "0.5"})
	}
	field := firstSet(set{"image", r.Image != ""}, set{"network", len(r.Network) > 0}, set{"memory", r.Memory != 0},
		set{"cpus", r.CPUs != 0}, set{"env", len(r.Env) > 0})
	if field == "" {
		return nil
	}
	return bad("not_living", field, field+": it is for a living sandbox; each run in another one has its own",
		`send "living": true, or leave it out`)
}

// set tells whether a field of a request is set.
type set struct {
	field string
	is    bool
}

// firstSet returns the first field that is set, or "".
func firstSet(fields ...set) string {
	for _, f := range fields {
		if f.is {
			return f.field
		}
	}
	return ""
}

// live makes the box of a living sandbox. It lives until the sandbox ends.
func (s *runs) live(ctx context.Context, c Caller, box *workspace.Sandbox, r *SandboxRequest) *job.Refusal {
	l := newLife(s.jailer, s.lives.idle)
	x := &run{runs: s, caller: c, by: l, life: l, request: &Request{Cmd: []string{"box"}, Image: r.Image,
		Network: r.Network, Memory: r.Memory, CPUs: r.CPUs, Env: r.Env, Sandbox: box.ID}}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.lives.all.Store(box.ID, l)
	go func() {
		defer cancel()
		a := x.perform(own, nil)
		a.Stdout, a.Stderr = "", ""
		l.result.Store(a)
		close(l.over)
	}()
	select {
	case <-l.up:
		return nil
	case <-l.over:
	case <-ctx.Done():
		cancel()
		<-l.over
	}
	return cmp.Or(l.result.Load().Error, refuse("sandbox", "not_started", "", "the box of the sandbox was not made"))
}
