package gitview

import (
	"context"
	"errors"
	"slices"

	"brig/internal/repository"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// Run calls run with a Spec that has all that spec.ProtectGit stands for, and views of the host's git directories in
// the writable mounts of s. Dir of each Report is the path in the jail. note, which has no path of the host, is set if
// no overlay can be made, so that run was called twice, or if not all directories were searched. For a jail that shows
// nothing of the host writable, and for one without mounts (spec.TierProcess), run is called with s.
func Run(ctx context.Context, s *nsjail.Spec, run func(*nsjail.Spec) (*nsjail.Result, error)) (
	r *nsjail.Result, list []*Report, note string, err error) {
	ofHost := func(m nsjail.Mount) bool { return m.Writes() && m.Type != nsjail.MountVolume }
	if s.Tier != "" || !slices.ContainsFunc(s.Mounts, ofHost) {
		r, err = run(s)
		return r, nil, "", err
	}
	s = s.Clone()
	if !slices.Contains(s.Protect, spec.ProtectGit) {
		s.Protect = append(slices.Clip(s.Protect), spec.ProtectGit)
	}
	v, err := Prepare(ctx, s)
	if err != nil {
		return nil, nil, "", err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	if v != nil {
		s = &v.Spec
	}
	r, err = run(s)
	if _, again := v.Fallback(err); again && r == nil {
		note = "git directories are read-only, since no overlay can be made of them"
		r, err = run(&v.Spec)
	}
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
