package policy

import (
	"cmp"
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
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
	v := newView(&asked)
	defer v.close()
	for _, p := range ps {
		if r := p.judge(j, v); r != nil {
			j.Refuse(r)
			return
		}
	}
	for _, p := range ps {
		p.pin(&j.Spec, v)
		j.Verdict.Narrowed = with(j.Verdict.Narrowed, p.Lower(&j.Spec))
		j.Verdict.Policies = with(j.Verdict.Policies, []string{p.label()})
	}
}

// wellFormed refuses a Spec that is invalid on every machine, so that no negative size and no NaN is compared with a
// ceiling.
func wellFormed(j *job.Job, p *Policy) *job.Refusal {
	problems := j.Spec.Check()
	if len(problems) == 0 {
		return nil
	}
	r := p.refusal(problems[0].Path, "invalid_request", problems[0].Path+" is not valid: "+problems[0].Reason,
		sentence(problems[0].Fix.String()))
	r.Rule, r.Layer = problems[0].Path, "request"
	return r
}

// judge returns a Refusal, or nil if p allows the Job. It changes nothing.
func (p *Policy) judge(j *job.Job, v *view) *job.Refusal {
	whole := *p
	whole.defaults() // for a policy made by a program, not parsed
	p = &whole
	var problems []string
	if !p.sealed {
		problems = p.Check()
	}
	if len(problems) > 0 {
		return p.refusal(strings.SplitN(problems[0], ":", 2)[0], "invalid_policy",
			"the policy itself is not valid: "+problems[0],
			"Tell the operator to correct the policy; brigd policy lint names every problem.")
	}
	s := &j.Spec
	if r := cmp.Or(p.program(j, v), p.root(j, v), p.mounts(s, v)); r != nil {
		return r // before network, which compares each rule with each
	}
	return cmp.Or(p.network(s), p.environment(j), p.seccomp(s), p.extras(j), p.rlimits(s), p.tooMuch(s))
}

// Lower narrows a Spec as Decide narrows one that is allowed, without checking whether it is, and returns sentences
// that describe the changes. It only restricts.
func (p *Policy) Lower(s *nsjail.Spec) []string {
	return slices.Concat(p.narrow(s), p.narrowEgress(s), p.mechanisms(s))
}

// program checks the command, or the language and size of the code.
func (p *Policy) program(j *job.Job, v *view) *job.Refusal {
	if j.Language == "" {
		if open(p, p.Commands) {
			return nil
		}
		return p.command(&j.Spec, v)
	}
	if !open(p, p.Languages) && !slices.Contains(p.Languages, j.Language) && !slices.Contains(p.Languages, Any) {
		next := "Use one of the allowed languages: " + strings.Join(p.Languages, ", ") + "."
		if len(p.Languages) == 0 {
			next = "Run one of the allowed commands instead: " + p.commandNames() + "."
		}
		return p.refusal("languages", "language_not_allowed", "code in "+words.QuoteASCII(j.Language)+" is not allowed", next)
	}
	return p.CheckCode(int64(len(j.Code)))
}

func (p *Policy) seccomp(s *nsjail.Spec) *job.Refusal {
	name := cmp.Or(s.Seccomp, "default")
	if open(p, p.Seccomp) || slices.Contains(p.Seccomp, name) {
		return nil
	}
	return p.refusal("seccomp", "seccomp_not_allowed", "the system-call filter "+words.QuoteASCII(name)+" is not allowed",
		"Use one of the allowed filters: "+orNone(p.Seccomp)+".")
}

// mechanisms adds the required mechanisms, and removes from Spec.Optional those that the policy does not list.
func (p *Policy) mechanisms(s *nsjail.Spec) (said []string) {
	optional := slices.DeleteFunc(slices.Clone(s.Optional), func(name string) bool {
		return slices.Contains(p.Require, name) || !open(p, p.Optional) && !slices.Contains(p.Optional, name)
	})
	if len(optional) < len(s.Optional) {
		if len(optional) == 0 {
			optional = nil
		}
		s.Optional = optional
		said = append(said, p.label()+": what may be missing cut to "+orNone(optional)+".")
	}
	require := with(slices.Clone(s.Require), p.Require)
	if len(require) > len(s.Require) {
		slices.Sort(require) // the same for every order of policies
		s.Require = require
		said = append(said, p.label()+": required "+strings.Join(p.Require, ", ")+".")
	}
	return said
}

// with appends the entries of more that list lacks.
func with(list, more []string) []string {
	for _, entry := range more {
		if !slices.Contains(list, entry) {
			list = append(list, entry)
		}
	}
	return list
}

// extra is a field of a Spec that requires a feature.
type extra struct {
	asked          bool
	feature, field string
}

// extras refuses a Spec that uses a feature which the policy does not list.
func (p *Policy) extras(j *job.Job) *job.Refusal {
	s, plain := &j.Spec, []string{"", "1000", "1000:1000"} // the default user, in either spelling
	if j.Image != nil {
		plain = append(plain, j.Image.User)
	}
	for _, e := range slices.Concat([]extra{
		{s.TTY, "tty", "tty"},
		{s.NoInit, "no_init", "no_init"},
		{s.Tier != "", "tier", "tier"},
		{s.AppArmor != "", "label", "apparmor"},
		{s.SELinuxLabel != "", "label", "selinux_label"},
		{!slices.Contains(plain, s.User), "user", "user"},
		{s.Rootfs.Writable, "writable_root", "rootfs.writable"},
		{s.Rootfs.System == spec.SystemShared, "shared_system", "rootfs.system"},
	}, limitExtras(&s.Limits), []extra{
		{s.CgroupParent != "", "cgroup_parent", "cgroup_parent"},
		{slices.ContainsFunc(s.Mounts, func(m nsjail.Mount) bool { return m.Live }), "live", "mounts.live"},
		{onDisk(s, false), "cow_disk", "mounts.store"},
		{onDisk(s, true), "cow_disk", "rootfs.store"},
	}) {
		if e.asked && !p.has(e.feature) {
			return p.noFeature(e.feature, e.field)
		}
	}
	return nil
}

// onDisk reports whether the changes of the root, or of another mount, may be kept on disk. For a share the operator
// has decided that.
func onDisk(s *nsjail.Spec, root bool) bool {
	for i, m := range s.COWs() {
		if i < 0 == root && m.MayUseDisk() && m.Held == nil {
			return true
		}
	}
	return false
}

// limitExtras returns the limits that require a feature, grouped by feature.
func limitExtras(l *nsjail.Limits) (list []extra) {
	for i := range limitTable() {
		feature := limitTable()[i].Feature
		if feature == "" || slices.ContainsFunc(list, func(e extra) bool { return e.feature == feature }) {
			continue
		}
		for k := range limitTable() {
			if r := &limitTable()[k]; r.Feature == feature {
				list = append(list, extra{r.IsSet(l), feature, "limits." + r.Name})
			}
		}
	}
	return list
}

func (p *Policy) has(feature string) bool {
	return open(p, p.Features) || slices.Contains(p.Features, feature)
}

func (p *Policy) noFeature(feature, field string) *job.Refusal {
	return p.refusal("features", "feature_not_allowed", field+" asks for "+features[feature]+", which is not allowed",
		"Leave "+field+" out.")
}

// refusal returns a Refusal by this policy.
func (p *Policy) refusal(field, code, message string, next ...string) *job.Refusal {
	return &job.Refusal{Message: sentence(message), Code: code, Layer: "policy", Rule: p.label() + ": " + field,
		NextSteps: next}
}

// sentence adds a full stop if there is none.
func sentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// orNone joins a list for a message: "none" if it is empty, and at most 64 entries.
func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	const most = 64
	if len(list) > most {
		return strings.Join(list[:most], ", ") + " and others"
	}
	return strings.Join(list, ", ")
}
