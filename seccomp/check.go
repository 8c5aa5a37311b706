package seccomp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brig/internal/strictjson"
	"brig/internal/words"
)

// Check returns the first error of p as a *ProfileError. Parse and Resolve call it.
func (p *Profile) Check() error {
	if err := checkAction("defaultAction", p.DefaultAction, "defaultErrnoRet", p.DefaultErrnoRet); err != nil {
		return err
	}
	if len(p.Architectures) > 0 && len(p.ArchMap) > 0 {
		return wrong("architectures", "stands beside archMap", "keep one of them")
	}
	if err := p.checkArches(); err != nil {
		return err
	}
	for i, f := range p.Flags {
		if err := checkFlag(strictjson.Index("flags", i), f); err != nil {
			return err
		}
	}
	for i := range p.Syscalls {
		if err := p.Syscalls[i].check(strictjson.Index("syscalls", i)); err != nil {
			return err
		}
	}
	return nil
}

func (p *Profile) checkArches() error {
	check := func(path, name string) error { return oneOf(path, "architecture", name, scmpArchNames()) }
	for i, a := range p.Architectures {
		if err := check(strictjson.Index("architectures", i), a); err != nil {
			return err
		}
	}
	for i, m := range p.ArchMap {
		path := strictjson.Index("archMap", i)
		if err := check(path+".architecture", m.Architecture); err != nil {
			return err
		}
		for j, a := range m.SubArchitectures {
			if err := check(strictjson.Index(path+".subArchitectures", j), a); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkFlag(path, name string) error {
	if name == "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV" {
		return wrong(path, words.QuoteASCII(name)+" is for a notification agent, which brig has not", "remove it")
	}
	return oneOf(path, "flag", name, flagNames())
}

func checkAction(path, name, errnoPath string, errno *uint) error {
	if name == "" {
		return wrong(path, "is missing", "write SCMP_ACT_ERRNO, SCMP_ACT_ALLOW or another action")
	}
	base, ok := parseAction(name)
	if !ok {
		return oneOf(path, "action", name, actionNames())
	}
	if base == Notify {
		return noListener(nil, path)
	}
	if errno == nil {
		return nil
	}
	if base != Errno && base != Trace {
		return wrong(errnoPath, "has no meaning beside "+name, "remove it, or use SCMP_ACT_ERRNO")
	}
	if limit := uint(maxErrno); base == Errno && *errno > limit {
		return wrong(errnoPath, fmt.Sprintf("is %d", *errno), fmt.Sprintf("write an errno from 0 to %d", limit))
	}
	if limit := uint(0xffff); *errno > limit {
		return wrong(errnoPath, fmt.Sprintf("is %d", *errno), fmt.Sprintf("write a message from 0 to %d", limit))
	}
	return nil
}

func (s *Syscall) check(path string) error {
	if len(s.Names) == 0 {
		return wrong(path+".names", "names no system call", "name at least one")
	}
	for i, n := range s.Names {
		if !plainName(n) {
			return wrong(strictjson.Index(path+".names", i), "is "+words.QuoteASCII(n),
				"write a system call's name: letters, digits and underscores")
		}
	}
	if err := checkAction(path+".action", s.Action, path+".errnoRet", s.ErrnoRet); err != nil {
		return err
	}
	for i := range s.Args {
		if err := s.Args[i].check(strictjson.Index(path+".args", i)); err != nil {
			return err
		}
	}
	if err := s.Includes.check(path + ".includes"); err != nil {
		return err
	}
	return s.Excludes.check(path + ".excludes")
}

func (a *Arg) check(path string) error {
	if a.Index > 5 {
		return wrong(path+".index", fmt.Sprintf("is %d", a.Index), "write 0 to 5: a system call has six arguments")
	}
	op, ok := parseOp(a.Op)
	if !ok {
		return oneOf(path+".op", "operator", a.Op, opNames())
	}
	if op == MaskedEq && a.ValueTwo&^a.Value != 0 {
		return wrong(path+".valueTwo", fmt.Sprintf("%#x has bits outside the mask (value) %#x, so it never matches",
			a.ValueTwo, a.Value),
			"put the mask in value and the wanted bits in valueTwo")
	}
	if op != MaskedEq && a.ValueTwo != 0 {
		return wrong(path+".valueTwo", "has no meaning beside "+a.Op, "remove it, or use SCMP_CMP_MASKED_EQ")
	}
	return nil
}

func (f *Filter) check(path string) error {
	if f == nil {
		return nil
	}
	for i, c := range f.Caps {
		if err := oneOf(strictjson.Index(path+".caps", i), "capability", c, capNames()); err != nil {
			return err
		}
	}
	for i, a := range f.Arches {
		if err := oneOf(strictjson.Index(path+".arches", i), "architecture", a, archNames()); err != nil {
			return err
		}
	}
	if f.MinKernel == "" {
		return nil
	}
	if _, _, ok := parseKernel(f.MinKernel); !ok {
		return wrong(path+".minKernel", "is "+words.QuoteASCII(f.MinKernel), `write two numbers, such as "4.8"`)
	}
	return nil
}

// parseKernel parses "4.8".
func parseKernel(s string) (major, minor int, ok bool) {
	a, b, found := strings.Cut(s, ".")
	x, err1 := strconv.ParseUint(a, 10, 8)
	y, err2 := strconv.ParseUint(b, 10, 8)
	return int(x), int(y), found && err1 == nil && err2 == nil && x+y > 0
}

func plainName(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' {
			return false
		}
	}
	return s != "" && len(s) < 64
}

func oneOf(path, what, name string, names []string) error {
	if slices.Contains(names, name) {
		return nil
	}
	return wrong(path, "unknown "+what+" "+words.QuoteASCII(name), suggest(name, names))
}
