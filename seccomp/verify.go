package seccomp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// maxProbes bounds the argument vectors tried on one system call.
const maxProbes = 512

// verify runs the filter on every number and around every constant, and compares it with the table: a filter that
// differs from the output of explain must never be loaded.
func (t *Table) verify(p []insn, a arch) error {
	numbers, rules := t.bySyscall()
	for nr := range slices.Max(append(numbers, t.Newest, 512)) + 2 {
		if err := t.compare(p, a, int32(nr), rules[nr]); err != nil {
			return err
		}
	}
	for _, nr := range []int32{-1, -2, math.MinInt32, math.MaxInt32, x32Bit - 1, x32Bit, x32Bit + 39, x32Bit + 512} {
		if err := t.compare(p, a, nr, nil); err != nil {
			return err
		}
	}
	const i386, foreign = 0x40000003, 0x12345678
	for _, audit := range []uint32{i386, foreign} {
		if got := run(p, Data{Nr: 1, Arch: audit}); got != KillProcess {
			return fmt.Errorf("seccomp: the filter answers %s to architecture %#x; this is a defect of brig or libseccomp", got,
				audit)
		}
	}
	return nil
}

// compare tests one system call with its rules.
func (t *Table) compare(p []insn, a arch, nr int32, rules []Rule) error {
	one := Table{Arch: t.Arch, Default: t.Default, Newest: t.Newest, Rules: rules}
	for _, args := range probes(rules) {
		d := Data{Nr: nr, Arch: a.audit, Args: args}
		if got, want := run(p, d), one.Eval(d); got != want {
			name, _ := a.syscallName(int(nr))
			return fmt.Errorf("seccomp: %s (%d) with arguments %#x: the filter answers %s where the profile says %s; "+
				"this is a defect of brig or libseccomp %s", name, nr, args, got, want, LibraryVersion())
		}
	}
	return nil
}

// probes returns argument vectors around the constants of the rules' conditions: all combinations, or those around each
// rule and a fixed sample.
func probes(rules []Rule) [][6]uint64 {
	if !slices.ContainsFunc(rules, func(r Rule) bool { return len(r.Conds) > 0 }) {
		return [][6]uint64{{}}
	}
	var values [6][]uint64
	total := 1
	for i := range values {
		values[i] = probeValues(rules, i)
		total = min(total*len(values[i]), maxProbes+1)
	}
	var out [][6]uint64
	if total <= maxProbes {
		for n := range total {
			out = append(out, pick(values, func(of int) int {
				i := n % of
				n /= of
				return i
			}))
		}
		return out
	}
	for _, r := range rules { // satisfy each rule, then change one argument
		var base [6]uint64
		for _, c := range r.Conds {
			base[c.Arg] |= c.Value
		}
		for i := range values {
			for _, v := range values[i] {
				one := base
				one[i] = v
				out = append(out, one)
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2)) // fixed seed: the check of a profile is reproducible
	for range maxProbes {
		out = append(out, pick(values, random.IntN))
	}
	return out
}

func pick(values [6][]uint64, index func(of int) int) (args [6]uint64) {
	for i := range args {
		args[i] = values[i][index(len(values[i]))]
	}
	return args
}

func probeValues(rules []Rule, arg int) []uint64 {
	out := []uint64{0}
	for _, r := range rules {
		for _, c := range r.Conds {
			if c.Arg != arg {
				continue
			}
			v := c.Value
			out = append(out, v, v-1, v+1, v|1<<32, v^1<<63, ^uint64(0))
			if c.Op == MaskedEq && c.Mask != 0 {
				low := c.Mask & -c.Mask
				out = append(out, v|^c.Mask, v^low, (v|^c.Mask)^low)
				for m := c.Mask; m != 0; m &= m - 1 {
					out = append(out, v^m&-m)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
