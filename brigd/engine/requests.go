package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"brig/brigd/job"
)

// requests makes Jobs of requests.
type requests struct {
	defaults  *defaults
	access    *access
	images    *images
	languages *languages
}

// job returns a Job for a request, without its code, sandbox and streams.
func (q *requests) job(c Caller, r *Request) (*job.Job, *job.Refusal) {
	agent, no := agentOf(c, r.Agent)
	j := &job.Job{ID: cmp.Or(r.ID, NewID("run")), Agent: agent, Token: c.Grant.id(), Sandbox: r.Sandbox,
		Spec: q.defaults.base()}
	if no = cmp.Or(r.check(), no, c.Rules.checkBase(&q.defaults.spec)); no != nil {
		return j, no
	}
	s := &j.Spec
	s.Args, s.Workdir = slices.Clone(r.Cmd), r.Cwd
	s.Env = append(s.Env, r.variables()...)
	if no := q.images.choose(c, j, r.Image); no != nil {
		return j, no
	}
	if len(s.Args) == 0 && r.Language == "" {
		return j, bad("nothing_to_run", "cmd", "neither code nor cmd is given, and the image has no command of its own",
			"send language and code, or cmd as a list of words")
	}
	l := &s.Limits
	l.Wall, l.Memory, l.CPUs = least(r.Timeout, l.Wall), least(r.Memory, l.Memory), least(r.CPUs, l.CPUs)
	if no := network(s, r.Network); no != nil {
		return j, no
	}
	if r.Sandbox == "" {
		no = inlineFiles(s, r.Files)
	}
	return j, no
}

// variables returns the request's own, as entries of Spec.Env.
func (r *Request) variables() (list []string) {
	for _, vars := range []map[string]string{r.Env, r.Secrets} {
		for _, name := range slices.Sorted(maps.Keys(vars)) {
			list = append(list, name+"="+vars[name])
		}
	}
	return list
}

// prepare returns a Job for a request, without its sandbox, mounts and streams.
func (q *requests) prepare(ctx context.Context, c Caller, r *Request) (*job.Job, *job.Refusal) {
	j, no := q.job(c, r)
	if no == nil && r.Language != "" {
		no = q.languages.prepare(ctx, j, r)
	}
	return j, no
}

// decide completes a Job that has its mounts. It checks and narrows the Job by all policies.
func (q *requests) decide(c Caller, j *job.Job, r *Request, stream bool) {
	if r.StdinReader != nil {
		j.Stdin = q.access.bounded(c, r.StdinReader)
	} else if r.Stdin != "" {
		j.Stdin = strings.NewReader(r.Stdin)
	}
	if c.Rules != nil {
		c.Rules.spare(j, q.access.of(Caller{Grant: c.Grant}))
	}
	q.access.decide(c, j, r)
	q.defaults.fill(j, r)
	c.Rules.lower(j, r, stream)
}
