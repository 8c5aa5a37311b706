package engine

import (
	"bytes"
	"cmp"
	"context"
	"io/fs"
	"path"
	"slices"

	"brig/brigd/audit"
	"brig/brigd/job"
)

// prepareInBox is prepare for a command in the box of a living sandbox.
func (x *run) prepareInBox(ctx context.Context, l *life, stream bool) (context.Context, *job.Refusal) {
	c, r := x.caller, x.request
	agent, no := agentOf(c, r.Agent)
	x.job = &job.Job{ID: cmp.Or(r.ID, NewID("run")), Agent: agent, Token: c.Grant.id(), Sandbox: r.Sandbox}
	if no = cmp.Or(r.check(), no, ofTheBox(r)); no != nil {
		return ctx, no
	}
	if x.box, no = x.boxes.find(c, r.Sandbox); no != nil {
		return ctx, no
	}
	x.job.Agent = x.box.Agent
	if x.process == nil { // which does not keep the sandbox from its end
		leave, err := x.box.Use()
		if err != nil {
			return ctx, asRefusal(err, "sandbox", "sandbox_unknown")
		}
		x.ends = append(x.ends, leave)
	}
	if no = l.ready(); no == nil {
		no = x.inside(ctx, l)
	}
	if no != nil {
		return ctx, no
	}
	x.by = inner{l, x.process}
	x.job.Ended = r.Ended
	x.requests.decide(c, x.job, r, stream)
	return x.lend(ctx)
}

// ofTheBox refuses a request for what only the whole box can have.
func ofTheBox(r *Request) *job.Refusal {
	field := firstSet(set{"image", r.Image != ""}, set{"network", len(r.Network) > 0},
		set{"mounts", len(r.Mounts) > 0}, set{"memory", r.Memory != 0}, set{"cpus", r.CPUs != 0})
	if field == "" {
		return nil
	}
	return bad("of_the_box", field, field+": all commands of a living sandbox share it",
		`send "apart": true for a jail of its own with the sandbox's files; or leave it out, and name it when the `+
			"sandbox is made")
}

// inside fills in the Job of a command in a box: that of the box, with the command, variables and time of the request.
func (x *run) inside(ctx context.Context, l *life) *job.Refusal {
	j, r := x.job, x.request
	j.Image, j.Spec = l.job.Image, *l.job.Spec.Clone()
	s := &j.Spec
	s.Args, s.TTY = slices.Clone(r.Cmd), x.process != nil && x.process.tty
	s.Workdir = cmp.Or(r.Cwd, s.Workdir)
	s.Env = append(s.Env, r.variables()...)
	base := x.requests.defaults.base()
	ownLimits(&s.Limits, &base.Limits)
	s.Limits.Wall = least(r.Timeout, s.Limits.Wall)
	if r.Language == "" {
		return nil
	}
	return x.codeInside(ctx)
}

// codeInside puts code below /input of the sandbox, which its processes can only read, for as long as it runs.
func (x *run) codeInside(ctx context.Context) *job.Refusal {
	j, r := x.job, x.request
	langs := x.requests.languages.of(j)
	_ = langs.Try(ctx, x.jails, r.Language) // as languages.prepare does
	dir := "/input/.code/" + j.ID
	mounts := j.Spec.Mounts
	if no := langs.PrepareIn(dir, j, r.Language, r.Code, r.Args); no != nil {
		return no
	}
	var file string
	for _, m := range j.Spec.Mounts[len(mounts):] {
		if path.Dir(m.Target) == dir {
			file = m.Target
		}
	}
	j.Spec.Mounts = mounts
	v := onFile(audit.FilePut, x.caller, x.box, file)
	v.Run = j.ID
	_, err := x.files.log.put(x.box, v, file, bytes.NewReader(j.Code), fs.FileMode(0o644), int64(len(j.Code)))
	if err != nil {
		return asRefusal(err, "sandbox", "file_refused")
	}
	x.ends = append(x.ends, func() { _ = x.box.Tree.Remove(dir) }) // it goes with the sandbox otherwise
	return nil
}
