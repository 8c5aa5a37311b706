package plan

import (
	"fmt"
	"slices"
	"strings"

	"brig/cgroup"
	"brig/internal/program"
	"brig/internal/words"
	"brig/netns"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/spec"
	"brig/rootfs"
)

// Plan is everything that brig will do on this machine for a Spec. `brig explain` prints it, and a Runner performs it.
type Plan struct {
	Spec *spec.Spec
	Host *host.Host
	Mode Mode
	// Flags are the clone3(2) flags: the new namespaces.
	Flags uint64
	// Drop is the program that the launcher first performs in itself; nil if the caller is not root.
	Drop *program.Program
	// Prepared are the programs by which the launcher has prepared its root; nil for a jail from the host's root.
	Prepared []Preparation
	// Prefix is the first part of the program, up to where it waits for the suffix; nil for a program in one part.
	Prefix *program.Program
	// Jail is the whole program of the jail, or its suffix.
	Jail *program.Program
	// Passed are the mounts that the keeper makes and passes to the jail, in the order of their slots.
	Passed []Passed
	// Group is the control group that the keeper makes for the jail; nil for none.
	Group *cgroup.Plan
	// Env is the payload's environment.
	Env []string
	// Wall is the limit on the jail's duration; 0 means none.
	Wall spec.Duration
	// Enforced maps each mechanism to what enforces it, or to the reason why nothing does. Result.Enforced includes
	// changes at the jail's creation.
	Enforced map[string]string
	// Notes are remarks for the user: fallbacks, ignored parts of a profile.
	Notes []string

	// Disks are the targets of each tmpfs that init holds open, to report at the end which are full.
	Disks [][]string

	// the slots of the three streams, of the group's descriptors, of a network namespace, and of two sockets
	// (detachMounts), the first of each; in is the first slot that the keeper does not fill
	Stdio, JoinAt, Netns, Cycle, in program.Slot

	Sockets *netns.Sockets // the sockets of the jail's network, which the jail sends to the keeper; nil for none

	SameFiles bool // for tests: pass the caller's files instead of opening them again

	Heard    []byte       // the filter to which init listens; nil if the kernel kills
	listener program.Slot // the slot of the listener
	Exec     []string     // the paths that the command can have, in the order of the execve operations
}

// Passed is a mount that the keeper makes with the caller's privileges.
type Passed struct {
	Key    string // the key in Host.Sources
	Attr   uint64 // MOUNT_ATTR_*
	IDMap  bool   // the source's owner becomes the payload's uid, its group the payload's gid
	Target string

	Slot     program.Slot
	InPrefix bool // passed with the prefix
}

// Op returns operation i of the whole program, or nil, and the number of operations.
func (p *Plan) Op(i int) (op *program.Op, of int) {
	head := 0
	if p.Prefix != nil {
		head = len(p.Prefix.Ops)
	}
	switch of = head + len(p.Jail.Ops); {
	case i >= 0 && i < head:
		op = &p.Prefix.Ops[i]
	case i >= head && i < of:
		op = &p.Jail.Ops[i-head]
	}
	return op, of
}

// String returns the plan as `brig explain` prints it.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# keeper\n")
	for _, m := range p.Passed {
		how := "open_tree"
		if m.IDMap {
			src := p.Host.Sources[m.Key]
			how = fmt.Sprintf("open_tree, idmapped %d:%d -> %d:%d", src.UID, src.GID, p.Host.PayloadUID, p.Host.PayloadGID)
		}
		fmt.Fprintf(&b, "      $%d = %s for %s (%s)\n", int(m.Slot), words.Quote(p.Host.Sources[m.Key].Path),
			words.Quote(m.Target), how)
	}
	if p.Group != nil {
		for _, s := range p.Group.Steps() {
			fmt.Fprintf(&b, "      cgroup: %s\n", s)
		}
	}
	if p.Drop != nil {
		fmt.Fprintf(&b, "# launcher: become an unprivileged user\n%s", p.Drop)
	}
	for _, s := range p.Prepared {
		fmt.Fprintf(&b, "# launcher: %s\n%s", s.What, s.Program)
	}
	fmt.Fprintf(&b, "# clone3(%s|CLONE_PARENT)\n", strings.Join(p.CloneFlags(), "|"))
	if p.Prefix != nil {
		b.WriteString(p.Prefix.String())
	}
	b.WriteString(p.Jail.String())
	for _, line := range p.watches() {
		fmt.Fprintf(&b, "# keeper: %s\n", line)
	}
	for _, m := range spec.Mechanisms() {
		if v, ok := p.Enforced[m.Name]; ok {
			fmt.Fprintf(&b, "# %s: %s\n", m.Name, v)
		}
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "# note: %s\n", n)
	}
	return b.String()
}

// Request returns the request for the launcher to perform the program or its prefix.
func (p *Plan) Request() program.Request {
	req := program.Request{CloneFlags: p.Flags, Cgroup: -1, Ward: p.Spec.NoInit}
	if p.Group != nil && p.Group.V2() > 0 {
		req.Cgroup = int(p.JoinAt) + len(p.Group.V1Joins())
	}
	req.Netns = int(p.Netns)
	return req
}

// watches describes what the keeper does while the payload runs.
func (p *Plan) watches() (list []string) {
	l := &p.Spec.Limits
	end := "kill all"
	if l.Grace > 0 {
		end = fmt.Sprintf("SIGTERM, and %s later kill all,", l.Grace)
	}
	if p.Wall > 0 {
		list = append(list, fmt.Sprintf("%s after %s", end, p.Wall))
	}
	if l.Idle > 0 {
		list = append(list, fmt.Sprintf("%s after %s without output", end, l.Idle))
	}
	if l.CPUTime > 0 && p.Group != nil && p.Group.Enforced["cpu_time"] != "" {
		list = append(list, fmt.Sprintf("kill all after %s of processor time", l.CPUTime))
	}
	if l.OutputLimit > 0 {
		list = append(list, fmt.Sprintf("kill all after %d bytes of output", int64(l.OutputLimit)))
	}
	if l.Output > 0 {
		list = append(list, fmt.Sprintf("keep %d bytes of each stream", int64(l.Output)))
	}
	return list
}

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
	r.mounts()
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

// slots reserves slots for n descriptors that the keeper passes, and returns the first.
func (r *resolver) slots(n int) (first program.Slot) {
	first = r.in
	r.in += program.Slot(n)
	return first
}

// finish appends the steps of the suffix.
func (r *resolver) finish(suffix []step) {
	r.write(suffix)
	if r.Wall = r.Spec.Limits.Wall; r.Wall == 0 && !r.Spec.TTY {
		r.Wall = spec.DefaultWall
	}
	r.Wall = max(r.Wall, 0)
	r.Notes = append(append(r.Notes, r.Host.FilterNotes...), r.Host.Partial...)
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

// Processors returns the largest number of processors that the jail can keep busy.
func (p *Plan) Processors() int {
	n := cgroup.Count(p.Host.Cgroup.CPUs)
	if set := cgroup.Count(p.Spec.Limits.CPUSet); set > 0 {
		n = set
	}
	return max(1, n)
}

// Preparation is a program that a Runner's launcher performs once, before it makes jails.
type Preparation struct {
	What    string
	Program *program.Program
	Request program.Request
}
