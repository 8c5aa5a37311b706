package seccomp

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"brig/internal/strictjson"
	"brig/internal/words"
)

// Resolve returns the meaning of p for a target: the entries that apply and the system calls that they name, in order.
func (p *Profile) Resolve(t Target) (*Table, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	a, ok := findArch(t.Arch)
	if !ok {
		return nil, fmt.Errorf("seccomp: architecture %s is not supported; use amd64, arm64, riscv64, s390x or ppc64le",
			words.QuoteASCII(t.Arch))
	}
	foreign, err := p.foreignArches(a)
	if err != nil {
		return nil, err
	}
	base, _ := parseAction(p.DefaultAction) // validated by Check
	r := resolver{arch: a, decided: map[int]Rule{}, table: &Table{
		Arch: t.Arch, Default: withData(base, p.DefaultErrnoRet), Newest: -1, Rules: []Rule{}, Flags: p.Flags}}
	for i := range p.Syscalls {
		if !p.Syscalls[i].applies(a, t) {
			continue
		}
		if err := r.entry(i, &p.Syscalls[i]); err != nil {
			return nil, err
		}
	}
	r.finish(foreign)
	return r.table, nil
}

// foreignArches returns the architectures that p lists beside the native one, and an error if it lists only others.
func (p *Profile) foreignArches(a arch) ([]string, error) {
	path, listed := "architectures", p.Architectures
	for _, m := range p.ArchMap {
		path = "archMap"
		listed = append(listed, m.Architecture)
		if m.Architecture == a.scmp {
			listed = append([]string{a.scmp}, m.SubArchitectures...)
			break
		}
	}
	if len(listed) > 0 && !slices.Contains(listed, a.scmp) && !slices.Contains(listed, "SCMP_ARCH_NATIVE") {
		return nil, wrong(path, "lists "+strings.Join(listed, " ")+", but this machine is "+a.scmp, "add "+a.scmp)
	}
	return slices.DeleteFunc(slices.Clone(listed), func(s string) bool { return s == a.scmp || s == "SCMP_ARCH_NATIVE" }),
		nil
}

func (s *Syscall) applies(a arch, t Target) bool {
	if f := s.Excludes; f != nil {
		switch {
		case slices.Contains(f.Arches, a.goName),
			slices.ContainsFunc(f.Caps, func(c string) bool { return slices.Contains(t.Caps, c) }),
			f.MinKernel != "" && t.atLeast(f.MinKernel):
			return false
		}
	}
	if f := s.Includes; f != nil {
		switch {
		case len(f.Arches) > 0 && !slices.Contains(f.Arches, a.goName),
			slices.ContainsFunc(f.Caps, func(c string) bool { return !slices.Contains(t.Caps, c) }),
			f.MinKernel != "" && !t.atLeast(f.MinKernel):
			return false
		}
	}
	return true
}

func (t Target) atLeast(kernel string) bool {
	major, minor, _ := parseKernel(kernel) // validated by Check
	return t.KernelMajor > major || t.KernelMajor == major && t.KernelMinor >= minor
}

// resolver builds a Table.
type resolver struct {
	arch    arch
	table   *Table
	decided map[int]Rule // the unconditional rule of a system call: later rules are unreachable
	unknown []string
	absent  []string
}

func (r *resolver) entry(i int, s *Syscall) error {
	base, _ := parseAction(s.Action)
	action := withData(base, s.ErrnoRet)
	conds := make([]Cond, 0, len(s.Args))
	for _, a := range s.Args {
		conds = append(conds, a.cond())
	}
	if !canHold(conds) {
		r.note("syscalls[%d]: %s: its conditions can never hold together, so it is left out; write one entry for each value",
			i, s.some())
		return nil
	}
	for j, name := range s.Names {
		nr, k := r.arch.syscallNumber(name)
		switch k {
		case isForeign:
			r.absent = append(r.absent, name)
		case isUnknown:
			if err := r.unknownName(strictjson.Index(strictjson.Index("syscalls", i)+".names", j), name, action); err != nil {
				return err
			}
		case isNative:
			r.rule(Rule{Name: name, Nr: nr, Action: action, Conds: conds, Entry: i})
			r.warnWide(name, action, conds, i)
		}
	}
	return nil
}

func (s *Syscall) some() string {
	if len(s.Names) > 3 {
		return strings.Join(s.Names[:3], " ") + " …"
	}
	return strings.Join(s.Names, " ")
}

// unknownName skips an unknown name if that is safe, that is, if the call then gets a stricter action than the entry's.
func (r *resolver) unknownName(path, name string, action Action) error {
	near := words.Nearest(name, r.arch.syscallNames())
	if r.table.Default.Permits() && !action.Permits() {
		fix := "remove it"
		if near != "" {
			fix = "did you mean " + near + "?"
		}
		return wrong(path, fmt.Sprintf("system call %s is unknown to libseccomp %s, and the default action would let it "+
			"through",
			words.QuoteASCII(name), LibraryVersion()), fix)
	}
	if near != "" {
		name += " (did you mean " + near + "?)"
	}
	r.unknown = append(r.unknown, name)
	return nil
}

func (r *resolver) rule(n Rule) {
	if first, ok := r.decided[n.Nr]; ok {
		if first.Action != n.Action {
			r.note("syscalls[%d]: %s: never reached: syscalls[%d] has decided %s without conditions",
				n.Entry, n.Name, first.Entry, first.Action)
		}
		return
	}
	if len(n.Conds) == 0 {
		r.decided[n.Nr] = n
	}
	r.table.Rules = append(r.table.Rules, n)
}

func (r *resolver) note(format string, args ...any) {
	r.table.Notes = append(r.table.Notes, fmt.Sprintf(format, args...))
}

// warnWide adds a note about a comparison that can be evaded with the upper half of a register: filters compare 64
// bits, but the kernel then reads only 32. Docker's own "socket domain > 40" permits AF_VSOCK in this way.
func (r *resolver) warnWide(name string, action Action, conds []Cond, entry int) {
	for _, c := range conds {
		if !intArg(name, c.Arg) {
			continue
		}
		open := c.Op == NotEqual || c.Op == Greater || c.Op == GreaterOrEqual // an evasion then permits the call
		if !action.Permits() && r.table.Default.Permits() {
			open = c.Op == Equal || c.Op == Less || c.Op == LessOrEqual || c.Op == MaskedEq && c.Mask>>32 != 0
		}
		if open && action.Permits() != r.table.Default.Permits() {
			r.note("syscalls[%d]: %s: %s %s %s compares 64 bits, but the kernel reads 32: other upper bits get past it; "+
				"use SCMP_CMP_MASKED_EQ with value 4294967295", entry, name, argName(name, c.Arg), c.Op, number(c.Value))
		}
	}
}

// finish adds the summary notes and the ENOSYS answer to newer calls.
func (r *resolver) finish(foreign []string) {
	t := r.table
	if t.Default.Base() == Errno && t.Default != ErrnoAction(unix.ENOSYS) {
		for _, rule := range t.Rules {
			t.Newest = max(t.Newest, rule.Nr)
		}
	}
	for _, name := range r.unknown {
		r.note("%s: unknown to libseccomp %s, falls to the default action", name, LibraryVersion())
	}
	if len(r.absent) > 0 {
		slices.Sort(r.absent)
		r.note("not system calls of %s, left out: %s", t.Arch, strings.Join(slices.Compact(r.absent), " "))
	}
	if len(foreign) > 0 {
		r.note("not compiled in, a call through them kills the process: %s", strings.Join(foreign, " "))
	}
}
