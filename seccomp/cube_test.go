package seccomp

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
)

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

// TestOverlappingRules makes up rule lists and lets Compile compare the filter with first-match.
func TestOverlappingRules(t *testing.T) {
	needNative(t)
	random := rand.New(rand.NewPCG(7, 8))
	values := []uint64{0, 1, 2, 3, 5, 8, 0x5412, 1<<32 - 1, 1 << 32, 1<<63 + 7, ^uint64(0)}
	actions := []Action{Allow, ErrnoAction(1), ErrnoAction(13), Log, Trap}
	compiled := 0
	for range 60 {
		table := &Table{Arch: runtime.GOARCH, Default: ErrnoAction(1), Newest: -1}
		for range 1 + random.IntN(4) {
			r := Rule{Name: "ioctl", Nr: 16, Action: actions[random.IntN(len(actions))]}
			for range random.IntN(3) {
				c := Cond{Arg: random.IntN(2), Op: Op(random.IntN(7)), Value: values[random.IntN(len(values))]}
				if c.Op == MaskedEq {
					c.Mask = values[random.IntN(len(values))]
					c.Value &= c.Mask
				}
				r.Conds = append(r.Conds, c)
			}
			table.Rules = append(table.Rules, r)
		}
		_, err := table.Compile()
		switch {
		case err == nil:
			compiled++
		case !errors.Is(err, errTooManyCubes):
			t.Errorf("%v\n%s", err, chain(table.Rules))
		}
	}
	if compiled < 30 {
		t.Errorf("only %d of 60 rule lists compiled", compiled)
	}
}

func TestForbiddenIoctlsStayFew(t *testing.T) {
	table, err := DefaultTable()
	if err != nil {
		t.Fatal(err)
	}
	for _, rules := range table.bySyscall() {
		l := lowerer{fallback: table.Default, budget: maxSplits}
		low, err := l.lower(rules)
		if err != nil {
			t.Fatal(err)
		}
		if rules[0].Name == "ioctl" && len(low) > 44 {
			t.Errorf("ioctl takes %d masks; 44 are enough for five forbidden numbers", len(low))
		}
	}
}

// TestVerifyCatches alters a good filter in every place that verify watches.
func TestVerifyCatches(t *testing.T) {
	needNative(t)
	table, err := DefaultTable()
	if err != nil {
		t.Fatal(err)
	}
	bpf, err := table.Compile()
	if err != nil {
		t.Fatal(err)
	}
	a, _ := findArch(runtime.GOARCH)
	good, err := decodeProgram(bpf)
	if err != nil {
		t.Fatal(err)
	}
	for i, holds := range track(good) {
		// libseccomp ends with a return that nothing reaches, and has some that no argument leads to: behind x & 0 != 0
		never := i > 1 && good[i-2].code == bpfAnd && good[i-2].k == 0 && good[i-1].code == bpfJeq && good[i-1].jt == 1
		if good[i].code != bpfRet || holds == unreached || never {
			continue
		}
		p := append([]insn(nil), good...)
		p[i].k = uint32(Log)
		if err := table.verify(p, a); err == nil {
			t.Errorf("instruction %d returns LOG instead of %s, unseen", i, Action(good[i].k))
		}
	}
}
