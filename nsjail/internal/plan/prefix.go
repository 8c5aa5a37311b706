package plan

import (
	"slices"

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

// Prefix is the first part of a program, planned once for many runs.
type Prefix struct {
	Plan *Plan // up to the operation that waits for the suffix

	in      input
	out     report
	fds     intake
	decided decisions
	written writer
	order   sequence
	first   program.Slot // the first slot of the descriptors that come with the suffix
}

// NewPrefix plans the prefix for a Spec and a Host.
func NewPrefix(s *spec.Spec, h *host.Host, m *Mode) (*Prefix, error) {
	s, mode := s.Clone(), *m
	in, fds, out := input{s, m.facts(s, h), &mode}, newIntake(), newReport()
	d := decide(&in, &fds, &out)
	if out.err != nil {
		return nil, out.err
	}
	if !MountsComeLater(s) {
		d.decideMounts(&in, &fds, &out)
	}
	d.group.takeSlots(&fds)
	var netns program.Slot
	if m.Net {
		netns = fds.slots(1)
	}
	if d.decideShape(&in); !d.shape.mountsLater {
		d.listening = decideListening(&in, &out)
	}
	if d.shape.filterFirst {
		d.filter = decideFilter(&in, d.listening.heard, true, &out)
	}
	if out.err != nil {
		return nil, out.err
	}
	w, o := &writer{Program: program.New(int(fds.next))}, derive(&d.shape)
	w.write(d, o.prefix)
	x := &Prefix{in: in, out: out, fds: fds, decided: *d, written: *w, order: o}
	x.first = w.Park("park", launcher.SlotReport)
	x.Plan = d.plan(&in, &fds, &out, w)
	x.Plan.Prefix, x.Plan.Prepared, x.Plan.Netns = w.Program, m.Root.Steps, netns
	return x, nil
}

// Resolve plans the suffix of one run. h is the prefix's Host with the sources, variables and filter of the run.
func (x *Prefix) Resolve(s *spec.Spec, h *host.Host) (*Plan, error) {
	p, _, err := x.resolve(s, h)
	return p, err
}

// resolve returns the plan of a run, and what it was made from.
func (x *Prefix) resolve(s *spec.Spec, h *host.Host) (*Plan, *decided, error) {
	in, out, d := &input{s, h, x.in.mode}, x.out.copy(), x.decided
	fds := intake{next: x.first, passed: slices.Clone(x.fds.passed), suffix: true}
	d.streams = streams{terminal: s.TTY, first: fds.slots(3)}
	if d.shape.mountsLater {
		d.decideMounts(in, &fds, &out)
		d.listening = decideListening(in, &out)
	}
	if out.err == nil {
		d.decideRun(in, &out)
	}
	if out.err != nil {
		return nil, nil, out.err
	}
	w := x.written.on(x.Plan.Prefix.Rest(int(fds.next - x.first)))
	w.write(&d, x.order.suffix)
	out.finish(in)
	p := d.plan(in, &fds, &out, w)
	p.Prefix, p.Prepared, p.Netns = x.Plan.Prefix, x.Plan.Prepared, x.Plan.Netns
	return p, &decided{in, out, &d}, nil
}
