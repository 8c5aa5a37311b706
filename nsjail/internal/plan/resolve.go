package plan

import (
	"brig/internal/program"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

// firstSlot is the first slot for results. It is fixed, since a launcher may perform the beginning of a program before
// it knows how many descriptors come with the program (launcher.Ahead).
const firstSlot = program.Slot(64)

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
	p, _, err := m.resolve(s, h)
	return p, err
}

// decided is all that is decided for a jail, and from what.
type decided struct {
	in  *input
	out report
	*decisions
}

// resolve returns the plan, and what it was made from.
func (m *Mode) resolve(s *spec.Spec, h *host.Host) (*Plan, *decided, error) {
	if m.Root != nil {
		x, err := NewPrefix(s, h, m)
		if err != nil {
			return nil, nil, err
		}
		return x.resolve(s, x.Plan.Host)
	}
	in, fds, out := &input{s, m.facts(s, h), m}, newIntake(), newReport()
	d := decide(in, &fds, &out)
	d.streams = streams{terminal: s.TTY, first: fds.slots(3)}
	if s.Tier == "" {
		d.decideMounts(in, &fds, &out)
	}
	d.group.takeSlots(&fds)
	if canDetachMounts(in) {
		d.cycle = fds.slots(2)
	}
	if out.err != nil {
		return nil, nil, out.err
	}
	d.decideShape(in)
	d.listening = decideListening(in, &out)
	d.decideRun(in, &out)
	if out.err != nil {
		return nil, nil, out.err
	}
	w, o := writer{Program: program.NewAt(int(fds.next), firstSlot)}, derive(&d.shape)
	w.write(d, o.prefix)
	w.write(d, o.suffix)
	out.finish(in)
	if m.Note != "" {
		out.note(words.Plain(m.Note))
	}
	return d.plan(in, &fds, &out, &w), &decided{in, out, d}, nil
}

// finish adds the notes of the Host.
func (r *report) finish(in *input) {
	r.notes = append(append(r.notes, in.host.FilterNotes...), in.host.Partial...)
}

// Bounds plans only the control group and the sockets of a Spec. It is for package ordered, which plans the rest.
func Bounds(s *spec.Spec, h *host.Host) (*Plan, error) {
	in, out := &input{s, h, &Mode{}}, newReport()
	g := decideGroup(in, &out)
	sockets := decideSockets(in, &out)
	return &Plan{Spec: s, Host: h, Group: g.plan, Sockets: sockets, Enforced: out.enforced, Notes: out.notes}, out.err
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
