package seccomp

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"testing"

	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

// oracle compiles a table with libseccomp, for comparison. libseccomp is not first-match: an unconditional rule wins
// over a conditional one wherever it is in the list, and two conditions on one argument are refused. So rules that
// overlap are first made disjoint.
func (t *Table) oracle(a arch) ([]byte, error) {
	f, err := t.filter()
	if err != nil {
		return nil, err
	}
	defer f.Release()
	body, err := export(f)
	if err != nil {
		return nil, err
	}
	return append(t.enosys(a), body...), nil
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

func (t *Table) fill(f *libseccomp.ScmpFilter) error {
	if err := f.SetBadArchAction(libseccomp.ActKillProcess); err != nil {
		return fmt.Errorf("seccomp: bad-architecture action: %w", err)
	}
	if err := f.SetOptimize(2); err != nil {
		return fmt.Errorf("seccomp: binary tree: %w; install libseccomp 2.5 or later", err)
	}
	l := lowerer{fallback: t.Default, budget: maxSplits}
	numbers, byNumber := t.bySyscall()
	for _, nr := range numbers {
		rules := byNumber[nr]
		low, err := l.lower(rules)
		if err != nil {
			return err
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
		return nil, fmt.Errorf("seccomp: libseccomp %s could not write the filter: %w; the profile has too many rules", LibraryVersion(), err)
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

// enosys answers ENOSYS to numbers above t.Newest; libseccomp can only name numbers one by one. Whatever it does not
// answer (a foreign architecture, x32, older numbers) falls through to libseccomp's part.
func (t *Table) enosys(a arch) []byte {
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

// lowered is a rule that libseccomp can take in any order: it overlaps no lowered rule of another action.
type lowered struct {
	action Action
	conds  []Cond
}

// lowerer makes the rules of a table disjoint within a budget of splits, which all its system calls share.
type lowerer struct {
	fallback Action // the table's default
	budget   int
}

// lower makes the rules of one system call disjoint where their actions differ, and leaves out what the default action
// does anyway, which libseccomp refuses to be told.
func (l *lowerer) lower(rules []Rule) ([]lowered, error) {
	if plain(rules) {
		return l.lowerPlain(rules), nil
	}
	if len(rules) > maxRules {
		return nil, fmt.Errorf("seccomp: %s (syscalls[%d]): %d overlapping rules, brig takes %d; merge some",
			rules[0].Name, rules[0].Entry, len(rules), maxRules)
	}
	var out []lowered
	var before []Rule
	for _, r := range rules {
		before = append(before, r)
		if r.Action == l.fallback {
			continue
		}
		cubes, err := l.remainder(r, before[:len(before)-1])
		if err != nil {
			return nil, fmt.Errorf("seccomp: %s (syscalls[%d]): %w; give its entries one action, or fewer conditions", r.Name, r.Entry, err)
		}
		for _, c := range cubes {
			out = append(out, lowered{r.Action, c.conds()})
		}
	}
	return out, nil
}

// plain reports whether the order of the rules has no meaning and libseccomp takes each as it is.
func plain(rules []Rule) bool {
	for _, r := range rules {
		var used [6]bool
		for _, c := range r.Conds {
			if used[c.Arg] {
				return false
			}
			used[c.Arg] = true
		}
		if r.Action != rules[0].Action {
			return false
		}
	}
	return true
}

func (l *lowerer) lowerPlain(rules []Rule) []lowered {
	if rules[0].Action == l.fallback {
		return nil
	}
	out := make([]lowered, 0, len(rules))
	for _, r := range rules {
		out = append(out, lowered{r.Action, r.Conds})
	}
	return out
}

// remainder returns where r decides: where it holds, less where a rule of another action before it does.
func (l *lowerer) remainder(r Rule, before []Rule) ([]cube, error) {
	own, err := cubesOf(r.Conds)
	if err != nil {
		return nil, err
	}
	var cut []cube
	for _, b := range before {
		if b.Action == r.Action {
			continue
		}
		c, err := cubesOf(b.Conds)
		if err != nil {
			return nil, err
		}
		if cut = append(cut, c...); len(cut) > maxCubes {
			return nil, errTooManyCubes
		}
	}
	var out []cube
	for _, c := range own {
		part, err := c.minus(cut, &l.budget)
		if err != nil {
			return nil, err
		}
		if out = append(out, part...); len(out) > maxCubes {
			return nil, errTooManyCubes
		}
	}
	return out, nil
}

// A cube is a set of argument vectors: those whose bits under mask equal want. It is the meaning of a conjunction of
// SCMP_CMP_MASKED_EQ with one comparison an argument, which libseccomp takes. Cubes are closed under
// intersection, and every comparison is a union of at most 126 of them, so "this rule, but for what the rules before it
// have decided" becomes a union of cubes, whatever order libseccomp tries them in.
type cube struct{ mask, want [6]uint64 }

// maxCubes bounds what one system call's rules may grow to; each costs three instructions or more of 4096.
const maxCubes = 512

// maxSplits bounds the work of making one table's rules disjoint, some hundred milliseconds at the worst.
const maxSplits = 1 << 15

// maxRules bounds the rules of one system call that overlap; the work grows with their square.
const maxRules = 128

var errTooManyCubes = errors.New("its overlapping rules are too intricate to be made disjoint")

// meet returns the intersection, false when it is empty.
func (c cube) meet(d cube) (cube, bool) {
	var m cube
	for i := range c.mask {
		if (c.want[i]^d.want[i])&c.mask[i]&d.mask[i] != 0 {
			return cube{}, false
		}
		m.mask[i], m.want[i] = c.mask[i]|d.mask[i], c.want[i]|d.want[i]
	}
	return m, true
}

// within reports whether every vector of c is in d.
func (c cube) within(d cube) bool {
	for i := range c.mask {
		if d.mask[i]&^c.mask[i] != 0 || (c.want[i]^d.want[i])&d.mask[i] != 0 {
			return false
		}
	}
	return true
}

// conds writes a cube as comparisons.
func (c cube) conds() []Cond {
	var out []Cond
	for i, m := range c.mask {
		switch m {
		case 0:
		case ^uint64(0):
			out = append(out, Cond{Arg: i, Op: Equal, Value: c.want[i]})
		default:
			out = append(out, Cond{Arg: i, Op: MaskedEq, Mask: m, Value: c.want[i]})
		}
	}
	return out
}

// cubesOf returns a conjunction of comparisons as a union; it is empty when they can never hold together.
func cubesOf(conds []Cond) ([]cube, error) {
	all := []cube{{}}
	for _, c := range conds {
		var next []cube
		for _, one := range c.cubes() {
			for _, have := range all {
				if m, ok := have.meet(one); ok {
					next = append(next, m)
				}
			}
			if len(next) > maxCubes {
				return nil, errTooManyCubes
			}
		}
		all = next
	}
	return all, nil
}

func (c Cond) cubes() []cube {
	var out []cube
	add := func(mask, want uint64) {
		var q cube
		q.mask[c.Arg], q.want[c.Arg] = mask, want
		out = append(out, q)
	}
	if c.Op == MaskedEq {
		add(c.Mask, c.Value)
		return out
	}
	for _, s := range c.spans() {
		s.prefixes(add)
	}
	return out
}

// prefixes cuts a range into aligned blocks, as a route table does with addresses.
func (s span) prefixes(add func(mask, want uint64)) {
	for {
		size := bits.TrailingZeros64(s.lo) // 64 for 0: the whole space is one block
		for size == 64 && s.hi != ^uint64(0) || size < 64 && s.lo+(1<<size-1) > s.hi {
			size--
		}
		if size == 64 {
			add(0, 0)
			return
		}
		add(^uint64(0)<<size, s.lo)
		last := s.lo + (1<<size - 1)
		if last == s.hi {
			return
		}
		s.lo = last + 1
	}
}

// minus returns c without the cubes of cut, as disjoint cubes. It splits c bit by bit, first on a bit in which all of
// cut agree, for then one half is finished at once; the highest such bit first, because the values near the forbidden
// ones (other ioctls) are the usual ones, and libseccomp tries the longest masks first.
func (c cube) minus(cut []cube, budget *int) ([]cube, error) {
	if *budget--; *budget < 0 {
		return nil, errTooManyCubes
	}
	var live []cube
	for _, x := range cut {
		if c.within(x) {
			return nil, nil
		}
		if _, ok := c.meet(x); ok {
			live = append(live, x)
		}
	}
	if len(live) == 0 {
		return []cube{c}, nil
	}
	arg, bit := splitAt(c, live)
	var out []cube
	for _, v := range [2]uint64{0, bit} {
		half := c
		half.mask[arg] |= bit
		half.want[arg] |= v
		part, err := half.minus(live, budget)
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	return out, nil
}

func splitAt(c cube, cut []cube) (arg int, bit uint64) {
	for arg := range c.mask {
		agreed := ^c.mask[arg]
		for _, x := range cut {
			agreed &= x.mask[arg] &^ (x.want[arg] ^ cut[0].want[arg])
		}
		if agreed != 0 {
			return arg, 1 << (bits.Len64(agreed) - 1)
		}
	}
	// No bit is common: take one of the first; it has one, or c would be within it.
	for arg := range c.mask {
		if free := cut[0].mask[arg] &^ c.mask[arg]; free != 0 {
			return arg, 1 << (bits.Len64(free) - 1)
		}
	}
	return 0, 0
}

// span is an inclusive range of values.
type span struct{ lo, hi uint64 }

// spans returns where a condition other than MaskedEq holds.
func (c Cond) spans() []span {
	const top = math.MaxUint64
	v := c.Value
	var s []span
	add := func(ok bool, lo, hi uint64) {
		if ok {
			s = append(s, span{lo, hi})
		}
	}
	switch c.Op {
	case Equal:
		add(true, v, v)
	case NotEqual:
		add(v > 0, 0, v-1)
		add(v < top, v+1, top)
	case Less:
		add(v > 0, 0, v-1)
	case LessOrEqual:
		add(true, 0, v)
	case GreaterOrEqual:
		add(true, v, top)
	case Greater:
		add(v < top, v+1, top)
	}
	return s
}

func TestPrefixesCoverTheSpan(t *testing.T) {
	const top = ^uint64(0)
	for _, s := range []span{{0, top}, {0, 0}, {top, top}, {1, top}, {0, top - 1}, {1, top - 1}, {5, 5}, {3, 17}, {1 << 63, top}, {8, 15}} {
		var blocks [][2]uint64
		s.prefixes(func(mask, want uint64) { blocks = append(blocks, [2]uint64{mask, want}) })
		for _, v := range []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 18, 1 << 32, 1<<63 - 1, 1 << 63, top - 1, top} {
			hits := 0
			for _, b := range blocks {
				if v&b[0] == b[1] {
					hits++
				}
			}
			want := 0
			if v >= s.lo && v <= s.hi {
				want = 1
			}
			if hits != want {
				t.Errorf("%#x in span %#x: %d blocks, want %d", v, s, hits, want)
			}
		}
	}
}
