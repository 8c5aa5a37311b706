package plan

import (
	"slices"

	"brig/cgroup"
	"brig/internal/program"
	"brig/landlock"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/rootfs"
)

// resolver is the state of one Resolve.
type resolver struct {
	*Plan
	err   error // the first one; what is planned after it is dropped
	shape shape
	root  rootfs.Root
	own   []rootfs.Entry // the caller's mounts
	tree  *rootfs.Tree

	layout     *cgroup.Layout
	everywhere int          // the number of entries in the root that are the same on every machine
	newNet     program.Slot // the network namespace that init makes
	sysctl     program.Slot // /proc/sys, for the network namespace that init makes
	rules      landlock.Rules
	domain     program.Slot // the Landlock ruleset
	labels     []execLabel
}

func newResolver(s *spec.Spec, h *host.Host, m *Mode) *resolver {
	return &resolver{Plan: &Plan{Spec: s, Host: h, Mode: *m, Enforced: map[string]string{}}}
}

func (r *resolver) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Resolve is Mode.Resolve for the zero Mode: each jail is made from the host's root (RunnerOptions.Cold).
func Resolve(s *spec.Spec, h *host.Host) (*Plan, error) { return Mode{}.Resolve(s, h) }

// Resolve decides everything that a Spec leaves open. It is pure: the same Spec, Host and Mode give the same Plan. A
// mechanism that the Spec needs and the Host lacks is an error, unless the Spec lists it under Optional.
func (m Mode) Resolve(s *spec.Spec, h *host.Host) (*Plan, error) {
	if problems := s.Check(); len(problems) > 0 {
		return nil, problems[0].AsError()
	}
	return m.ResolveChecked(s, h)
}

// ResolveChecked is like Resolve, for a Spec that has passed Check.
func (m *Mode) ResolveChecked(s *spec.Spec, h *host.Host) (*Plan, error) {
	if m.Root != nil {
		x, err := NewPrefix(s, h, m)
		if err != nil {
			return nil, err
		}
		return x.Resolve(s, x.Plan.Host)
	}
	r := newResolver(s, m.facts(s, h), m)
	r.decide()
	r.Stdio = r.slots(3)
	if r.Spec.Tier == "" {
		r.mounts()
	}
	r.groupSlots()
	if r.canDetachMounts() {
		r.Cycle = r.slots(2)
	}
	r.Jail = program.NewAt(int(r.in), firstSlot)
	r.shape = r.shapeOf()
	o := derive(&r.shape)
	r.write(o.prefix)
	r.finish(o.suffix)
	if r.err != nil {
		return nil, r.err
	}
	if m.Note != "" {
		r.Notes = append(r.Notes, m.Note)
	}
	return r.Plan, nil
}

// Bounds returns a plan that has no more than what the limits and the network of a Spec need, the control group and the
// sockets. It is for package ordered, which plans the rest.
func Bounds(s *spec.Spec, h *host.Host) (*Plan, error) {
	r := newResolver(s, h, &Mode{})
	r.group()
	r.network()
	return r.Plan, r.err
}

// slots reserves slots for n descriptors that the keeper passes, and returns the first.
func (r *resolver) slots(n int) (first program.Slot) {
	first = r.in
	r.in += program.Slot(n)
	return first
}

// finish appends the steps of the suffix.
func (r *resolver) finish(suffix []step) {
	r.write(suffix)
	r.Wall = wall(r.Spec)
	r.Notes = append(append(r.Notes, r.Host.FilterNotes...), r.Host.Partial...)
}

// wall returns the limit on the jail's duration; 0 means none.
func wall(s *spec.Spec) spec.Duration {
	if s.Limits.Wall == 0 && !s.TTY {
		return spec.DefaultWall
	}
	return max(s.Limits.Wall, 0)
}

// For returns the plan for a Spec that differs from the plan's only in limits that the keeper holds. It shares the
// program.
func (p *Plan) For(s *spec.Spec) *Plan {
	q := *p
	q.Spec, q.Wall = s, wall(s)
	return &q
}

// require reports whether a mechanism can be used, and records what enforces it. A missing one is an error unless the
// Spec lists it under Optional, or unless there is a fallback and the Spec does not list it under Require.
func (r *resolver) require(name, by, missing, fallback string) bool {
	ok, err := r.enforce(name, by, missing, fallback)
	if err != nil {
		r.fail(err)
	}
	return ok
}

// enforce is require for a caller that words the error.
func (r *resolver) enforce(name, by, missing, fallback string) (bool, *spec.Error) {
	switch {
	case missing == "":
		r.Enforced[name] = by
		return true, nil
	case slices.Contains(r.Spec.Optional, name):
		r.Enforced[name] = "not enforced: " + missing + " (optional)"
	case fallback != "" && !slices.Contains(r.Spec.Require, name):
		r.Enforced[name] = fallback + " (" + missing + ")"
	default:
		return false, spec.HostError(name, missing, "mend that, or accept a jail without it: --optional "+name)
	}
	return false, nil
}
