package engine

import (
	"cmp"
	"context"

	"brig/brigd/job"
	"brig/brigd/workspace"
)

// check refuses settings that make no sense.
func (r *BoxRequest) check() *job.Refusal {
	return negative(amount{"memory", r.Memory < 0, "512m"}, amount{"cpus", r.CPUs < 0, "0.5"})
}

// checkLiving refuses fields of a request for a sandbox that are about a living one.
func (r *SandboxRequest) checkLiving() *job.Refusal {
	if r.Living {
		return r.BoxRequest.check()
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

// LiveSandbox makes the box of a sandbox that has none, or whose box has ended: from now on its processes go on between
// calls. Its files are as they were. Runs that are going on in it keep their own jails.
func (s *sandboxes) LiveSandbox(ctx context.Context, c Caller, id string, r *BoxRequest) (*SandboxInfo, error) {
	if no := cmp.Or(r.check(), s.access.mayDo(c, "live")); no != nil {
		return nil, no
	}
	box, no := s.boxes.find(c, id)
	if no != nil {
		return nil, no
	}
	if s.shelf != nil {
		s.shelf.save(box) // the last time: the state that a restart finds
	}
	if no := s.live(ctx, c, box, r); no != nil {
		return nil, no
	}
	return s.info(box), nil
}

// live makes the box of a sandbox. It lives until the sandbox ends.
func (s *runs) live(ctx context.Context, c Caller, box *workspace.Sandbox, r *BoxRequest) *job.Refusal {
	l := newLife(s.jailer, s.lives.idle)
	x := &run{runs: s, caller: c, by: l, life: l, request: &Request{Cmd: []string{"box"}, Image: r.Image,
		Network: r.Network, Memory: r.Memory, CPUs: r.CPUs, Env: r.Env, Sandbox: box.ID}}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	undo, no := s.lives.begin(box.ID, l)
	if no != nil {
		cancel()
		return no
	}
	go func() {
		defer cancel()
		a := x.perform(own, nil)
		a.Stdout, a.Stderr = "", ""
		l.result.Store(a)
		close(l.over)
	}()
	select {
	case <-l.up:
		ofBox(box).living.Store(true)
		return nil
	case <-l.over:
	case <-ctx.Done():
		cancel()
		<-l.over
	}
	undo()
	return cmp.Or(l.result.Load().Error, refuse("sandbox", "not_started", "", "the box of the sandbox was not made"))
}

// begin makes a box that of a sandbox, unless that has one. undo takes it back.
func (t *lives) begin(sandbox string, l *life) (undo func(), no *job.Refusal) {
	old, there := t.all.LoadOrStore(sandbox, l)
	if !there {
		return func() { t.all.CompareAndDelete(sandbox, l) }, nil
	}
	if was := old.(*life); was.result.Load() == nil || !t.all.CompareAndSwap(sandbox, old, l) {
		return nil, refuse("sandbox", "already_living", "id", "the sandbox has a box already",
			"start processes in it, or make another living sandbox")
	}
	return func() { t.all.CompareAndSwap(sandbox, l, old) }, nil
}
