package gitview

import (
	"context"
	"errors"
	"slices"

	"brig/nsjail"
)

// Execute runs a Job by next with all that nsjail.ProtectGit stands for, and with views of the git directories that its
// writable mounts of the host show. Dir of each Report is the target. note tells why there are no views, if no overlay
// can be made. A jail that shows nothing of the host writable is run as it is, and so is one
// without mounts (nsjail.TierProcess).
func Execute(ctx context.Context, next nsjail.Executor, j *nsjail.Job) (r *nsjail.Result, list []*Report, note string,
	err error) {
	ofHost := func(m nsjail.Mount) bool { return m.Writes() && m.Type != nsjail.MountVolume }
	if j.Verdict.Refusal != nil || j.Spec.Tier != "" || !slices.ContainsFunc(j.Spec.Mounts, ofHost) {
		r, err = next.Execute(ctx, j)
		return r, nil, "", err
	}
	s := j.Spec.Clone()
	if !slices.Contains(s.Protect, nsjail.ProtectGit) {
		s.Protect = append(slices.Clip(s.Protect), nsjail.ProtectGit)
	}
	v, err := Prepare(ctx, s)
	if err != nil {
		return nil, nil, "", err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	inner := *j
	if inner.Spec = *s; v != nil {
		inner.Spec = v.Spec
	}
	r, err = next.Execute(ctx, &inner)
	if text, again := v.Fallback(err); again && r == nil {
		inner.Spec, note = v.Spec, text
		r, err = next.Execute(ctx, &inner)
	}
	j.PlanDigest = inner.PlanDigest
	if r == nil {
		return nil, nil, note, err
	}
	v.Tell(r.Enforced)
	list = v.BringBack(r)
	for _, report := range list {
		report.Dir = report.Target
	}
	return r, list, note, err
}
