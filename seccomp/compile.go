package seccomp

import (
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"brig/internal/words"
)

// maxInsns is the kernel's BPF_MAXINSNS: seccomp(2) refuses a longer filter.
const maxInsns = 4096

// maxConds bounds the comparisons of a filter. A comparison takes three to five instructions, so more would not fit in
// maxInsns.
const maxConds = 1536

// Compile returns the filter for seccomp(2): an array of struct sock_filter in native byte order. Neighbouring system
// calls with the same answer share one leaf of a binary tree of ranges, which takes a tenth of the instructions of a
// tree of numbers. It loads and runs faster, and the kernel evaluates every number once when it loads the filter (the
// action cache of Linux 5.11). The result has been compared with Eval on every system call number and on the values
// around every constant of every condition.
func (t *Table) Compile() ([]byte, error) {
	a, ok := findArch(t.Arch)
	if native := runtime.GOARCH; !ok || t.Arch != native {
		return nil, fmt.Errorf("seccomp: cannot compile for %s on %s; resolve the profile for %s", words.QuoteASCII(t.Arch),
			native, native)
	}
	return t.compile(a)
}

func (t *Table) compile(a arch) ([]byte, error) {
	conds := 0
	for _, r := range t.Rules {
		if conds += len(r.Conds); conds > maxConds {
			return nil, fmt.Errorf("seccomp: %s (syscalls[%d]): the filter needs more than %d comparisons, too many for the "+
				"%d instructions that the kernel takes; use fewer conditions", r.Name, r.Entry, maxConds, maxInsns)
		}
	}
	bpf := encode(shrink(append(t.prologue(a), tree(t.ranges())...)))
	p, err := decodeProgram(bpf)
	if err != nil {
		return nil, fmt.Errorf("seccomp: %w", err)
	}
	return bpf, t.verify(p, a)
}

// prologue kills the process for calls through another ABI. The number -1, which a tracer writes to skip a call, gets
// the default action, and so do numbers from 0x40000000 on that are not x32's.
func (t *Table) prologue(a arch) []insn {
	p := []insn{
		{code: bpfLoad, k: offArch},
		{code: bpfJeq, jt: 1, k: a.audit},
		ret(KillProcess),
		{code: bpfLoad, k: offNr},
	}
	if a.goName != "amd64" {
		return append(p, insn{code: bpfJge, jf: 1, k: x32Bit}, ret(t.Default))
	}
	return append(p, insn{code: bpfJge, jf: 3, k: x32Bit}, insn{code: bpfJeq, jt: 1, k: 0xffffffff},
		ret(KillProcess), ret(t.Default))
}

func ret(a Action) insn { return insn{code: bpfRet, k: uint32(a)} }

// leaf is the answer for the system calls from a number up to that of the next leaf.
type leaf struct {
	from int
	code []insn
}

// ranges returns the leaves, sorted by their numbers.
func (t *Table) ranges() []leaf {
	numbers, rules := t.bySyscall()
	top := slices.Max(append(numbers, t.Newest))
	var list []leaf
	add := func(from int, code []insn) {
		if n := len(list); n == 0 || !slices.Equal(list[n-1].code, code) {
			list = append(list, leaf{from, code})
		}
	}
	for nr := range top + 1 {
		add(nr, ruleCode(rules[nr], t.Default))
	}
	newer := t.Default
	if t.Newest >= 0 {
		newer = ErrnoAction(unix.ENOSYS)
	}
	add(top+1, []insn{ret(newer)})
	return list
}

// tree splits the leaves in halves recursively. A conditional jump reaches 255 instructions, an unconditional one any
// distance.
func tree(list []leaf) []insn {
	if len(list) == 1 {
		return list[0].code
	}
	mid := len(list) / 2
	left, right := tree(list[:mid]), tree(list[mid:])
	node := []insn{{code: bpfJge, jt: uint8(len(left)), k: uint32(list[mid].from)}}
	if len(left) > 255 {
		node = []insn{{code: bpfJge, jf: 1, k: uint32(list[mid].from)}, {code: bpfJa, k: uint32(len(left))}}
	}
	return slices.Concat(node, left, right)
}

// ruleCode tests the rules of one system call in order; the first that holds decides.
func ruleCode(rules []Rule, fallback Action) []insn {
	for len(rules) > 0 && rules[len(rules)-1].Action == fallback { // such a rule has no effect
		rules = rules[:len(rules)-1]
	}
	return append(testRules(rules), ret(fallback))
}

// testRules is followed by what comes after its end if no rule holds. A condition with which several rules in a row
// begin is tested once.
func testRules(rules []Rule) (code []insn) {
	for len(rules) > 0 {
		if len(rules[0].Conds) == 0 {
			return append(code, ret(rules[0].Action)) // the rules after it are never reached
		}
		first, inner := rules[0].Conds[0], []Rule(nil)
		for len(rules) > 0 && len(rules[0].Conds) > 0 && rules[0].Conds[0] == first {
			inner = append(inner, Rule{Action: rules[0].Action, Conds: rules[0].Conds[1:]})
			rules = rules[1:]
		}
		one := testRules(inner)
		if n := len(one); n > maxSkip { // the jump past the rules is too long for a condition
			one = append([]insn{{code: bpfJa, k: 1}, {code: bpfJa, k: uint32(n)}}, one...)
			code = append(append(code, condCode(first, 1)...), one...)
			continue
		}
		code = append(append(code, condCode(first, len(one))...), one...)
	}
	return code
}

// maxSkip is how many instructions a condition can skip: a jump of 255, less the instructions of condCode.
const maxSkip = 250

// condCode continues with the next instruction if a condition holds, and otherwise skips n further instructions. An
// argument has 64 bits and an instruction 32: the upper half is compared first.
func condCode(c Cond, n int) []insn {
	lo, hi := uint32(offArgs+8*c.Arg), uint32(offArgs+8*c.Arg+4)
	if bigEndian() {
		lo, hi = hi, lo
	}
	vl, vh := uint32(c.Value), uint32(c.Value>>32)
	load := func(k uint32) insn { return insn{code: bpfLoad, k: k} }
	jump := func(code uint16, k uint32, jt, jf int) insn {
		return insn{code: code, k: k, jt: uint8(jt), jf: uint8(jf)}
	}
	switch c.Op {
	case Equal:
		return []insn{load(hi), jump(bpfJeq, vh, 0, 2+n), load(lo), jump(bpfJeq, vl, 0, n)}
	case NotEqual:
		return []insn{load(hi), jump(bpfJeq, vh, 0, 2), load(lo), jump(bpfJeq, vl, n, 0)}
	case GreaterOrEqual:
		return []insn{load(hi), jump(bpfJgt, vh, 3, 0), jump(bpfJeq, vh, 0, 2+n), load(lo), jump(bpfJge, vl, 0, n)}
	case Greater:
		return []insn{load(hi), jump(bpfJgt, vh, 3, 0), jump(bpfJeq, vh, 0, 2+n), load(lo), jump(bpfJgt, vl, 0, n)}
	case Less:
		return []insn{load(hi), jump(bpfJgt, vh, 3+n, 0), jump(bpfJeq, vh, 0, 2), load(lo), jump(bpfJge, vl, n, 0)}
	case LessOrEqual:
		return []insn{load(hi), jump(bpfJgt, vh, 3+n, 0), jump(bpfJeq, vh, 0, 2), load(lo), jump(bpfJgt, vl, n, 0)}
	}
	var code []insn // MaskedEq: a half with mask 0 is not compared
	if ml := uint32(c.Mask); ml != 0 || vl != 0 {
		code = []insn{load(lo), {code: bpfAnd, k: ml}, jump(bpfJeq, vl, 0, n)}
	}
	if mh := uint32(c.Mask >> 32); mh != 0 || vh != 0 {
		code = append([]insn{load(hi), {code: bpfAnd, k: mh}, jump(bpfJeq, vh, 0, n+len(code))}, code...)
	}
	return code
}
