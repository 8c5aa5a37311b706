package engine

import (
	"cmp"
	"io"
	"slices"

	"brig/brigd/job"
	"brig/brigd/policy"
)

// policies are the operator's, which must all allow what any caller asks for.
type policies []*policy.Policy

// of returns the policies that must all allow a caller's request.
func (own policies) of(c Caller) []*policy.Policy {
	if c.Grant == nil && c.Rules == nil {
		return own
	}
	list := slices.Concat(own, c.ruled())
	if c.Grant != nil {
		list = append(list, c.Grant.policies...)
	}
	return list
}

// each returns the first refusal by a policy.
func (own policies) each(c Caller, ask func(*policy.Policy) *job.Refusal) *job.Refusal {
	for _, p := range own.of(c) {
		if no := ask(p); no != nil {
			return no
		}
	}
	return nil
}

// checkInputs returns the first refusal of a request's inputs by a policy.
func (own policies) checkInputs(c Caller, stdin string, files map[string]File) *job.Refusal {
	sizes := make([]int64, 0, len(files))
	for _, f := range files {
		sizes = append(sizes, int64(len(f.Data)))
	}
	slices.Sort(sizes) // the same refusal for the same request
	return own.each(c, func(p *policy.Policy) *job.Refusal {
		return cmp.Or(p.CheckStdin(int64(len(stdin))), p.CheckFiles(sizes))
	})
}

// bounded limits a stream of standard input to the stdin_bytes of the policies.
func (own policies) bounded(c Caller, in io.Reader) io.Reader {
	for _, p := range own.of(c) {
		if n := int64(p.Inputs.StdinBytes); n > 0 {
			in = io.LimitReader(in, n)
		}
	}
	return in
}

// decide checks and narrows a Job by all policies.
func (own policies) decide(c Caller, j *job.Job, r *Request) {
	policy.DecideAll(j, own.of(c)...)
	if no := own.checkInputs(c, r.Stdin, r.Files); no != nil {
		j.Refuse(no)
	}
}
