package plan

import (
	"cmp"
	"encoding/binary"
	"slices"

	"brig/internal/program"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/ops"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Box plans the processes of a jail whose init forks no payload (Mode.Box), each when it is asked for.
type Box struct {
	*decided
	steps []*phase
	ahead []*phase // the steps in another order: a spare performs the first of them before its command is known; or nil
}

// aheadFiles is a limit on open files under which the listener of a filter gets a descriptor, whatever else is open.
const aheadFiles = 64

// ResolveBox plans a jail with Mode.Box from the host's root, and returns what plans its processes.
func (m *Mode) ResolveBox(s *spec.Spec, h *host.Host) (*Plan, *Box, error) {
	return newBox(m.resolve(s, h))
}

// ResolveBox is Resolve for the prefix of a jail with Mode.Box, and returns what plans its processes.
func (x *Prefix) ResolveBox(s *spec.Spec, h *host.Host) (*Plan, *Box, error) {
	return newBox(x.resolve(s, h))
}

// newBox returns what plans the processes of a box that has been planned.
func newBox(p *Plan, made *decided, err error) (*Plan, *Box, error) {
	if err != nil {
		return nil, nil, err
	}
	if files := made.in.host.HardLimits["nofile"]; files >= 0 && files < launcher.BoxFiles {
		return nil, nil, spec.HostError("box", words.Textf("its init needs %d open files, and the hard limit is %d",
			launcher.BoxFiles, files), "raise it (ulimit -Hn)")
	}
	b := &Box{decided: made}
	for i := range phases {
		if ph := &phases[i]; ph.by == payload && (ph.in == nil || ph.in(&b.shape)) {
			b.steps = append(b.steps, ph)
		}
	}
	b.limits = decideRlimits(b.in, &b.group, &b.out)
	b.processes = decideProcesses(b.in, &b.group, &b.out)
	few := func(l rlimit) bool { return l.name == "nofile" && l.Soft >= 0 && l.Soft < aheadFiles }
	if permitsSuffix(b.in.Spec, b.in.host) && !slices.ContainsFunc(b.limits, few) {
		b.ahead, b.filter.closes = slices.Clone(b.steps), false
		slices.SortStableFunc(b.ahead, func(x, y *phase) int { return cmp.Compare(x.rank(), y.rank()) })
	}
	return p, b, nil
}

// rank is 0 for a phase that a spare performs.
func (ph *phase) rank() int {
	if ph.shared {
		return 0
	}
	return 1
}

// Resolve plans a process. The Spec is the box's but for the command, the environment, the working directory, the
// terminal, and the limits that the keeper holds. passed are the caller's variables that it asks for, and term is the
// caller's TERM: host.LookEnv. null tells which streams the keeper does not pass.
func (b *Box) Resolve(s *spec.Spec, passed []string, term string, null [3]bool) *Plan {
	h := b.in.host.WithEnv(passed, term)
	in, d, fds := &input{s, h, b.in.mode}, *b.decisions, newIntake()
	d.streams = streams{terminal: s.TTY, first: fds.next, null: null}
	for _, none := range null {
		if !none {
			fds.slots(1)
		}
	}
	d.command = decideCommand(in)
	w := writer{Program: program.NewRest(int(fds.next))}
	w.listener = d.listening.fork(w.Program, d.streams.first)
	args, own, steps := d.listening.args(0, 0, w.listener, d.streams.first), 0, b.steps
	if b.ahead != nil && !s.TTY { // a terminal takes more than the filter permits
		steps = b.ahead
	}
	for _, ph := range steps {
		if ph.write(&w, &d); ph.shared {
			own = len(w.Ops) - 1
		}
	}
	if b.ahead != nil && !s.TTY {
		for len(args) < 4 {
			args = append(args, program.Int(0))
		}
		args[3] = program.Int(own)
	}
	w.Ops[0].Args = args
	return &Plan{Spec: s, Host: h, Mode: Mode{Forked: in.mode.Forked}, Jail: w.Program, Env: d.command.env,
		Exec: d.command.paths(), Wall: max(s.Limits.Wall, 0), Enforced: b.out.enforced, Notes: b.out.notes,
		Stdio: d.streams.first, Heard: d.listening.heard}
}

// Socket returns the program by which a box's init makes a stream socket of the box and sends it to the keeper:
// socket(2). One with a path is connected by init, to which the path means what it means in the box: unix(7).
func Socket(family int, path string) *program.Program {
	p := program.NewRest(int(launcher.SlotUser))
	s := p.Open("socket", unix.SYS_SOCKET, program.Int(family),
		program.Named(unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, "SOCK_STREAM|SOCK_NONBLOCK|SOCK_CLOEXEC"),
		program.Int(0))
	if path != "" {
		b := binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX)
		b = append(append(b, path...), 0)
		p.Add("socket", unix.SYS_CONNECT, s.Arg(), program.Struct(b, program.Text(words.Quote(path))), program.Int(len(b)))
	}
	ops.PassFD(p, "socket", s, "socket")
	return p
}
