package gitview

import (
	"context"
	"errors"
	"slices"

	"brig/internal/repository"
	"brig/nsjail"
)

// Execute runs a Job by next with all that nsjail.ProtectGit stands for, and with views of the git directories that its
// writable mounts of the host show. Dir of each Report is the target. note tells what is not as it should be, without a
// path of the host: no overlay can be made, or not all directories were searched. A jail that shows nothing of the host
// writable is run as it is, and so is one without mounts (nsjail.TierProcess).
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
	if _, again := v.Fallback(err); again && r == nil {
		inner.Spec, note = v.Spec, "git directories are read-only, since no overlay can be made of them"
		r, err = next.Execute(ctx, &inner)
	}
	j.PlanDigest = inner.PlanDigest
	if r == nil {
		return nil, nil, note, err
	}
	if v != nil && v.Spec.Repositories != nil && note == "" && slices.ContainsFunc(v.Spec.Repositories.Problems,
		func(p repository.Problem) bool { return p.Note }) {
		note = "in part: there are more files than are searched for repositories, or settings that cannot be read"
	}
	v.Tell(r.Enforced)
	list = v.BringBack(r)
	for _, report := range list {
		report.Dir = report.Target
	}
	return r, list, note, err
}
