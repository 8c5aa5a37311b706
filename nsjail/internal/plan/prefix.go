package plan

import (
	"maps"
	"slices"
	"strings"

	"brig/internal/program"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"
)

// PrefixSpec returns the part of a Spec on which its prefix depends, without the command, the environment, the working
// directory, and the limits that the keeper holds. Of mounts in the suffix it keeps only those that change the root.
func PrefixSpec(s *spec.Spec) spec.Spec {
	k := *s
	k.Args, k.Env, k.PassEnv, k.Workdir = nil, nil, nil, ""
	k.Limits = s.Limits.WithoutKeeper()
	if MountsComeLater(s) {
		k.Protect, k.Mounts = nil, []spec.Mount{{}}
		for _, d := range scratchDirs {
			if slices.ContainsFunc(s.Mounts, func(m spec.Mount) bool { return m.Target == d }) {
				k.Mounts = append(k.Mounts, spec.Mount{Target: d})
			}
		}
		if mountsEtc(s) {
			k.Mounts = append(k.Mounts, spec.Mount{Target: "/etc"})
		}
	}
	return k
}

// mountsEtc reports whether a Spec mounts something in /etc, which then cannot be a single overlay.
func mountsEtc(s *spec.Spec) bool {
	return slices.ContainsFunc(s.Mounts, func(m spec.Mount) bool {
		return m.Target == "/etc" ||
			strings.HasPrefix(m.Target, "/etc/")
	})
}

// Prefix is the first part of a program, planned once for many runs.
type Prefix struct {
	Plan  *Plan // up to the operation that waits for the suffix
	base  resolver
	order sequence
	first program.Slot // the first slot of the descriptors that come with the suffix
}

// NewPrefix plans the prefix for a Spec and a Host.
func NewPrefix(s *spec.Spec, h *host.Host, m *Mode) (*Prefix, error) {
	s = s.Clone()
	x := &Prefix{base: *newResolver(s, m.facts(s, h), m)}
	r := &x.base
	x.Plan = r.Plan
	r.Prepared = m.Root.Steps
	r.decide()
	if r.shape = r.shapeOf(); !r.shape.mountsLater {
		r.mounts()
	}
	r.groupSlots()
	if m.Net {
		r.Netns = r.slots(1)
	}
	r.Jail = program.New(int(r.in))
	x.order = derive(&r.shape)
	if r.write(x.order.prefix); r.err != nil {
		return nil, r.err
	}
	x.first = r.Jail.Park("park", launcher.SlotReport)
	r.Prefix = r.Jail
	return x, nil
}

// Resolve plans the suffix of one run. h is the prefix's Host with the sources, variables and filter of the run.
func (x *Prefix) Resolve(s *spec.Spec, h *host.Host) (*Plan, error) {
	r, p := x.base, *x.Plan
	p.Spec, p.Host = s, h
	p.Enforced, p.Notes, p.Passed = maps.Clone(p.Enforced), slices.Clone(p.Notes), slices.Clone(p.Passed)
	p.Uppers = slices.Clone(p.Uppers)
	r.Plan = &p
	r.in = x.first
	r.Stdio = r.slots(3)
	if r.shape.mountsLater {
		r.mounts()
	}
	r.Jail = r.Prefix.Rest(int(r.in - x.first))
	r.tree = x.base.tree.On(r.Jail)
	r.finish(x.order.suffix)
	return &p, r.err
}
