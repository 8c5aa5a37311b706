package seccomp

import (
	"fmt"
	"io"
	"os"
	"runtime"

	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

// MaxInsns is the kernel's BPF_MAXINSNS: seccomp(2) refuses a longer filter.
const MaxInsns = 4096

// optimizeTree is libseccomp's binary tree of system call numbers: loading and running it beats the linear list.
const optimizeTree = 2

// Compile gives the filter for seccomp(2): an array of struct sock_filter in native byte order. The result has been
// compared with Eval on every system call number and on the values around every constant of every condition.
func (t *Table) Compile() ([]byte, error) {
	a, ok := findArch(t.Arch)
	if !ok || t.Arch != runtime.GOARCH {
		return nil, fmt.Errorf("seccomp: cannot compile for %s on %s; resolve the profile for %s", quote(t.Arch), runtime.GOARCH, runtime.GOARCH)
	}
	f, err := t.filter()
	if err != nil {
		return nil, err
	}
	defer f.Release()
	body, err := export(f)
	if err != nil {
		return nil, err
	}
	bpf := append(t.prologue(a), body...)
	p, err := decodeProgram(bpf)
	if err != nil {
		return nil, fmt.Errorf("seccomp: libseccomp %s: %w", libraryVersion(), err)
	}
	return bpf, t.verify(p, a)
}

// filter fills a libseccomp filter. It has one architecture, so that a number without a name can be added, and so that
// every foreign ABI meets the bad-architecture action.
func (t *Table) filter() (*libseccomp.ScmpFilter, error) {
	f, err := libseccomp.NewFilter(t.Default.lib())
	if err != nil {
		return nil, fmt.Errorf("seccomp: default action %s: %w", t.Default, err)
	}
	if err := t.fill(f); err != nil {
		f.Release()
		return nil, err
	}
	return f, nil
}

// maxConds bounds the comparisons of a filter before libseccomp sees them, because its time grows with the cube of
// their number. A comparison is three to five instructions, so more would not fit in MaxInsns either.
const maxConds = 1536

func (t *Table) fill(f *libseccomp.ScmpFilter) error {
	if err := f.SetBadArchAction(libseccomp.ActKillProcess); err != nil {
		return fmt.Errorf("seccomp: bad-architecture action: %w", err)
	}
	if err := f.SetOptimize(optimizeTree); err != nil {
		return fmt.Errorf("seccomp: binary tree: %w; install libseccomp 2.5 or later", err)
	}
	conds := 0
	l := lowerer{fallback: t.Default, budget: maxSplits}
	for _, rules := range t.bySyscall() {
		low, err := l.lower(rules)
		if err != nil {
			return err
		}
		for _, one := range low {
			conds += len(one.conds)
		}
		if conds > maxConds {
			return fmt.Errorf("seccomp: %s (syscalls[%d]): the filter needs more than %d comparisons, too many for the "+
				"%d instructions that the kernel takes; use fewer conditions", rules[0].Name, rules[0].Entry, maxConds, MaxInsns)
		}
		for _, one := range low {
			if err := add(f, rules[0].Nr, one); err != nil {
				return fmt.Errorf("seccomp: %s (syscalls[%d]): %w", rules[0].Name, rules[0].Entry, err)
			}
		}
	}
	return nil
}

func add(f *libseccomp.ScmpFilter, nr int, l lowered) error {
	call := libseccomp.ScmpSyscall(nr)
	if len(l.conds) == 0 {
		return f.AddRuleExact(call, l.action.lib())
	}
	conds := make([]libseccomp.ScmpCondition, len(l.conds))
	for i, c := range l.conds {
		// libseccomp wants the mask first.
		conds[i] = libseccomp.ScmpCondition{Argument: uint(c.Arg), Op: c.Op.lib(), Operand1: c.Value}
		if c.Op == MaskedEq {
			conds[i].Operand1, conds[i].Operand2 = c.Mask, c.Value
		}
	}
	return f.AddRuleConditionalExact(call, l.action.lib(), conds)
}

// export goes through a memfd because libseccomp 2.5 cannot export to memory.
func export(f *libseccomp.ScmpFilter) ([]byte, error) {
	fd, err := unix.MemfdCreate("brig-bpf", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("seccomp: memfd_create: %w", err)
	}
	m := os.NewFile(uintptr(fd), "brig-bpf")
	defer m.Close()
	if err := f.ExportBPF(m); err != nil {
		return nil, fmt.Errorf("seccomp: libseccomp %s could not write the filter: %w; the profile has too many rules", libraryVersion(), err)
	}
	if _, err := m.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("seccomp: memfd: %w", err)
	}
	body, err := io.ReadAll(m)
	if err != nil {
		return nil, fmt.Errorf("seccomp: memfd: %w", err)
	}
	return body, nil
}

// prologue answers ENOSYS to numbers above t.Newest; libseccomp can only name numbers one by one. Whatever it does not
// answer (a foreign architecture, x32, older numbers) falls through to libseccomp's part.
func (t *Table) prologue(a arch) []byte {
	if t.Newest < 0 {
		return nil
	}
	return encode([]insn{
		{code: bpfLoad, k: offArch},
		{code: bpfJeq, jf: 4, k: a.audit},
		{code: bpfLoad, k: offNr},
		{code: bpfJge, jt: 2, k: x32Bit},
		{code: bpfJgt, jf: 1, k: uint32(t.Newest)},
		{code: bpfRet, k: uint32(ErrnoAction(unix.ENOSYS))},
	})
}

func (a Action) lib() libseccomp.ScmpAction {
	switch a.Base() {
	case KillProcess:
		return libseccomp.ActKillProcess
	case Trap:
		return libseccomp.ActTrap
	case Errno:
		return libseccomp.ActErrno.SetReturnCode(int16(a.Data()))
	case Trace:
		return libseccomp.ActTrace.SetReturnCode(int16(a.Data()))
	case Log:
		return libseccomp.ActLog
	case Allow:
		return libseccomp.ActAllow
	}
	return libseccomp.ActKillThread
}

func (o Op) lib() libseccomp.ScmpCompareOp {
	switch o {
	case NotEqual:
		return libseccomp.CompareNotEqual
	case Less:
		return libseccomp.CompareLess
	case LessOrEqual:
		return libseccomp.CompareLessOrEqual
	case Equal:
		return libseccomp.CompareEqual
	case GreaterOrEqual:
		return libseccomp.CompareGreaterEqual
	case Greater:
		return libseccomp.CompareGreater
	case MaskedEq:
		return libseccomp.CompareMaskedEqual
	}
	return libseccomp.CompareInvalid
}
