// Package plan decides what brig does on a machine: Resolve turns a Spec, the facts of a Host and the Mode of a
// launcher into a Plan. It is pure: it does not import os and makes no system call. The order of a program is defined
// by the table of phases in phases.go.
package plan

import (
	"fmt"
	"strings"

	"brig/cgroup"
	"brig/internal/program"
	"brig/internal/words"
	"brig/netns"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
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
	Enforced map[string]spec.Text
	// Notes are remarks for the user: fallbacks, ignored parts of a profile.
	Notes []spec.Text

	// Disks are the targets of each tmpfs that init holds open, to report at the end which are full.
	Disks [][]string

	// the slots of the three streams, of the group's descriptors, of a network namespace, and of two sockets
	// (detachMounts), the first of each
	Stdio, JoinAt, Netns, Cycle program.Slot

	// Uppers are the indexes in Spec.COWs of the upper directories that the jail sends to the keeper, in this order.
	Uppers []int

	Sockets *netns.Sockets // the sockets of the jail's network, which the jail sends to the keeper; nil for none

	Stays bool // the jail goes on without its keeper, and until its last process has ended

	SameFiles bool // for tests: pass the caller's files instead of opening them again

	Heard []byte   // the filter to which init listens; nil if the kernel kills
	Exec  []string // the paths that the command can have, in the order of the execve operations
}

// Op returns operation i of the whole program, or nil, and the number of operations.
func (p *Plan) Op(i int) (op *program.Op, of int) {
	prefix := 0
	if p.Prefix != nil {
		prefix = len(p.Prefix.Ops)
	}
	switch of = prefix + len(p.Jail.Ops); {
	case i >= 0 && i < prefix:
		op = &p.Prefix.Ops[i]
	case i >= prefix && i < of:
		op = &p.Jail.Ops[i-prefix]
	}
	return op, of
}

// String returns the plan as text.
func (p *Plan) String() string { return p.In(words.Neutral) }

// In returns the plan as `brig explain` prints it, in the words of a reader.
func (p *Plan) In(d spec.Dialect) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# keeper\n")
	for _, m := range p.Passed {
		how := "open_tree"
		if m.IDMap {
			src := p.Host.Sources.At(m.Source)
			how = fmt.Sprintf("open_tree, idmapped %d:%d -> %d:%d", src.UID, src.GID, p.Host.PayloadUID, p.Host.PayloadGID)
		}
		fmt.Fprintf(&b, "      $%d = %s for %s (%s)\n", int(m.Slot), words.Quote(p.Host.Sources.At(m.Source).Path),
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
	fmt.Fprintf(&b, "# clone3(%s)\n", strings.Join(append(p.CloneFlags(), "CLONE_PARENT"), "|"))
	if p.Prefix != nil {
		b.WriteString(p.Prefix.String())
	}
	b.WriteString(p.Jail.String())
	for _, line := range p.watches() {
		fmt.Fprintf(&b, "# keeper: %s\n", line)
	}
	for _, m := range spec.Mechanisms() {
		if v, ok := p.Enforced[m.Name]; ok {
			fmt.Fprintf(&b, "# %s: %s\n", m.Name, v.In(d))
		}
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "# note: %s\n", n.In(d))
	}
	return b.String()
}

// Step is one operation of a plan, for printing.
type Step struct {
	N     int    `json:"n"`
	Label string `json:"label"`
	Call  string `json:"call"`
}

// Steps returns the operations of the launcher (only for root) and of the jail, numbered as in errors.
func (p *Plan) Steps() (drop, jail []Step) {
	jail = append(steps(p.Prefix), steps(p.Jail)...)
	for i := range jail {
		jail[i].N = i + 1
	}
	return steps(p.Drop), jail
}

// CloneFlags returns the names of the new namespaces.
func (p *Plan) CloneFlags() []string {
	names := FlagNames(p.Flags)
	if p.Group != nil && p.Group.V2() > 0 {
		names = append(names, "CLONE_INTO_CGROUP")
	}
	return names
}

func steps(p *program.Program) (list []Step) {
	if p == nil {
		return nil
	}
	for i := range p.Ops {
		list = append(list, Step{i + 1, p.Ops[i].Label, p.Ops[i].Call()})
	}
	return list
}

// Request returns the request for the launcher to perform the program or its prefix.
func (p *Plan) Request() program.Request {
	req := program.Request{CloneFlags: p.Flags, Cgroup: -1, Ward: p.Spec.NoInit && !p.Stays}
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
	for i := range p.Spec.Mounts {
		if m := &p.Spec.Mounts[i]; m.Held != nil && m.Held.Most > 0 {
			list = append(list, fmt.Sprintf("kill all above %d bytes in %s", int64(m.Held.Most), m.Target))
		}
	}
	return list
}

// Processors returns the largest number of processors that the jail can keep busy.
func (p *Plan) Processors() int {
	n := cgroup.Count(p.Host.Cgroup.CPUs)
	if set := cgroup.Count(p.Spec.Limits.CPUSet); set > 0 {
		n = set
	}
	return max(1, n)
}
