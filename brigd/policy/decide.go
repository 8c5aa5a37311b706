package policy

import (
	"cmp"
	"slices"
	"strings"

	"brig/brigd/internal/jailpath"
	"brig/brigd/job"
	"brig/nsjail"
)

// Decide narrows j.Spec to what p allows, or refuses the Job. A Job that was refused before is left unchanged.
func (p *Policy) Decide(j *job.Job) { DecideAll(j, p) }

// DecideAll checks the original Spec against every policy, and only then narrows it by each of them. The result is
// allowed by all of them, and neither the verdict nor the Spec depends on their order. (If the policies decided in
// sequence, a later one would see the narrowed Spec, and a ceiling that refuses might no longer be exceeded.) A policy
// with problems (see Check) refuses the Job.
func DecideAll(j *job.Job, ps ...*Policy) {
	if j.Verdict.Refusal != nil {
		return
	}
	if len(ps) > 0 {
		if r := wellFormed(j, ps[0]); r != nil {
			j.Refuse(r)
			return
		}
	}
	asked := j.Spec
	v := jailpath.New(&asked)
	defer v.Close()
	for _, p := range ps {
		if r := p.judge(j, v); r != nil {
			j.Refuse(r)
			return
		}
	}
	for _, p := range ps {
		p.files().pin(&j.Spec, v)
		j.Verdict.Narrowed = with(j.Verdict.Narrowed, p.Lower(&j.Spec))
		j.Verdict.Policies = with(j.Verdict.Policies, []string{p.rule().policy})
	}
}

// wellFormed refuses a Spec that is invalid on every machine, so that no negative size and no NaN is compared with a
// ceiling.
func wellFormed(j *job.Job, p *Policy) *job.Refusal {
	problems := j.Spec.Check()
	if len(problems) == 0 {
		return nil
	}
	r := p.rule().refusal(problems[0].Path, "invalid_request", problems[0].Path+" is not valid: "+problems[0].Reason,
		sentence(problems[0].Fix.String()))
	r.Rule, r.Layer = problems[0].Path, "request"
	return r
}

// judge returns a Refusal, or nil if p allows the Job. It changes nothing.
func (p *Policy) judge(j *job.Job, v *jailpath.View) *job.Refusal {
	whole := *p
	whole.defaults() // for a policy made by a program, not parsed
	p = &whole
	var problems []string
	if !p.sealed {
		problems = p.Check()
	}
	if len(problems) > 0 {
		return p.rule().refusal(strings.SplitN(problems[0], ":", 2)[0], "invalid_policy",
			"the policy itself is not valid: "+problems[0],
			"Tell the operator to correct the policy; brigd policy lint names every problem.")
	}
	s, files, features := &j.Spec, p.files(), p.features()
	if r := cmp.Or(p.programs().judge(j, v), files.root(j, v), files.mounts(s, v)); r != nil {
		return r // before network, which compares each rule with each
	}
	return cmp.Or(p.network().judge(s), p.variables().judge(j), p.filters().judge(s), features.judge(j),
		features.rlimits(s), p.limits().judge(s))
}

// Lower narrows a Spec as Decide narrows one that is allowed, without checking whether it is, and returns sentences
// that describe the changes. It only restricts.
func (p *Policy) Lower(s *nsjail.Spec) []string {
	return slices.Concat(p.limits().narrow(s), p.network().narrow(s), p.mechanisms().narrow(s))
}

// CheckCode refuses code of more than inputs.code_bytes bytes. Decide calls it too.
func (p *Policy) CheckCode(n int64) *job.Refusal { return p.inputs().code(n) }

// CheckStdin refuses standard input of more than inputs.stdin_bytes bytes.
func (p *Policy) CheckStdin(n int64) *job.Refusal { return p.inputs().stdin(n) }

// CheckFiles refuses the files of a request, given their sizes in bytes, if there are too many, one is too large, or
// their sum is.
func (p *Policy) CheckFiles(sizes []int64) *job.Refusal { return p.inputs().files(sizes) }

// CheckOperation refuses an operation on a sandbox that is not allowed: see operations.
func (p *Policy) CheckOperation(op string) *job.Refusal { return p.sandboxes().operation(op) }

// NarrowSandbox lowers the disk size, inodes and TTL of a new sandbox to the ceilings. 0 means as much as is allowed.
func (p *Policy) NarrowSandbox(disk nsjail.Bytes, inodes int64, ttl nsjail.Duration) (nsjail.Bytes, int64,
	nsjail.Duration) {
	return p.sandboxes().narrow(disk, inodes, ttl)
}

// AllowsImage reports whether an image of the operator's may be the root.
func (p *Policy) AllowsImage(name string) bool { return p.files().allowsImage(name) }

// Share returns the highest of ShareModes that the policy allows for a share, or "" for none.
func (p *Policy) Share(name string) (mode string) { return p.files().highest(name) }
