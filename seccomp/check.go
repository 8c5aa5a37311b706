package seccomp

import (
	"cmp"
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
	if i := slices.Index(p.Flags, "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV"); i >= 0 {
		return wrong(strictjson.Index("flags", i), words.QuoteASCII(p.Flags[i])+
			" is for a notification agent, which brig has not", "remove it")
	}
	if err := eachOf("flags", "flag", p.Flags, flagNames()); err != nil {
		return err
	}
	for i := range p.Syscalls {
		if err := p.Syscalls[i].check(strictjson.Index("syscalls", i)); err != nil {
			return err
		}
	}
	return nil
}

func (p *Profile) checkArches() error {
	err := eachOf("architectures", "architecture", p.Architectures, scmpArchNames())
	for i, m := range p.ArchMap {
		path := strictjson.Index("archMap", i)
		err = cmp.Or(err, oneOf(path+".architecture", "architecture", m.Architecture, scmpArchNames()),
			eachOf(path+".subArchitectures", "architecture", m.SubArchitectures, scmpArchNames()))
	}
	return err
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
	return cmp.Or(s.Includes.check(path+".includes"), s.Excludes.check(path+".excludes"))
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
	err := cmp.Or(eachOf(path+".caps", "capability", f.Caps, capNames()),
		eachOf(path+".arches", "architecture", f.Arches, archNames()))
	if _, _, ok := parseKernel(f.MinKernel); err == nil && f.MinKernel != "" && !ok {
		return wrong(path+".minKernel", "is "+words.QuoteASCII(f.MinKernel), `write two numbers, such as "4.8"`)
	}
	return err
}

// parseKernel parses "4.8".
func parseKernel(s string) (major, minor int, ok bool) {
	a, b, found := strings.Cut(s, ".")
	x, err1 := strconv.ParseUint(a, 10, 8)
	y, err2 := strconv.ParseUint(b, 10, 8)
	return int(x), int(y), found && err1 == nil && err2 == nil && x+y > 0
}

func plainName(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	return s != "" && len(s) < 64 && strings.Trim(s, letters) == ""
}

// eachOf returns the error for the first of the names that is not among the known ones.
func eachOf(path, what string, names, known []string) error {
	for i, name := range names {
		if err := oneOf(strictjson.Index(path, i), what, name, known); err != nil {
			return err
		}
	}
	return nil
}

func oneOf(path, what, name string, names []string) error {
	if slices.Contains(names, name) {
		return nil
	}
	return wrong(path, "unknown "+what+" "+words.QuoteASCII(name), words.DidYouMean(name, names))
}

// flagNames returns the seccomp(2) flags that make sense for a filter loaded before exec; see Table.LoadFlags.
func flagNames() []string {
	return []string{"SECCOMP_FILTER_FLAG_LOG", "SECCOMP_FILTER_FLAG_SPEC_ALLOW", "SECCOMP_FILTER_FLAG_TSYNC"}
}

// capNames returns the capabilities of capabilities(7).
func capNames() []string {
	return strings.Fields(`CAP_AUDIT_CONTROL CAP_AUDIT_READ CAP_AUDIT_WRITE CAP_BLOCK_SUSPEND CAP_BPF
		CAP_CHECKPOINT_RESTORE CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_FSETID CAP_IPC_LOCK
		CAP_IPC_OWNER CAP_KILL CAP_LEASE CAP_LINUX_IMMUTABLE CAP_MAC_ADMIN CAP_MAC_OVERRIDE CAP_MKNOD CAP_NET_ADMIN
		CAP_NET_BIND_SERVICE CAP_NET_BROADCAST CAP_NET_RAW CAP_PERFMON CAP_SETFCAP CAP_SETGID CAP_SETPCAP CAP_SETUID
		CAP_SYSLOG CAP_SYS_ADMIN CAP_SYS_BOOT CAP_SYS_CHROOT CAP_SYS_MODULE CAP_SYS_NICE CAP_SYS_PACCT CAP_SYS_PTRACE
		CAP_SYS_RAWIO CAP_SYS_RESOURCE CAP_SYS_TIME CAP_SYS_TTY_CONFIG CAP_WAKE_ALARM`)
}
