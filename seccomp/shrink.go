package seccomp

import "slices"

// shrink returns an equivalent filter with fewer instructions, since the kernel converts, checks and compiles each when
// it loads the filter. It removes masks of all bits, loads of a word that is already loaded, and duplicate answers: one
// of each kind remains, at the end, and all jumps lead there. A jump reaches 255 instructions (bpf(2)): a longer filter
// has the answers in its middle, too, and one whose jumps are longer still remains unchanged. Jumps go forward only, so
// one pass in order visits all paths to an instruction.
func shrink(p []insn) []insn {
	s := shrinker{p: p, skip: redundant(p), place: map[int]int{}}
	start := s.at(0)
	if p[start].code == bpfRet {
		return []insn{p[start]}
	}
	live := map[int]bool{start: true}
	for i, in := range p {
		if !live[i] || in.code == bpfRet {
			continue
		}
		s.place[i] = len(s.order)
		s.order = append(s.order, i)
		for _, to := range s.targets(i) {
			live[to] = true
		}
	}
	for _, s.middle = range []int{len(s.order), s.half()} {
		if out := s.write(); out != nil && len(out) < len(p) {
			return out
		}
	}
	return p
}

type shrinker struct {
	p     []insn
	skip  []bool      // the redundant instructions
	order []int       // the remaining instructions, except the answers
	place map[int]int // and their numbers in order
	// middle is the number of instructions before the answers in the middle; ends are those and the ones at the end.
	middle int
	ends   [2][]uint32
}

// half returns a place in the middle for the answers: behind an instruction that has jumps for both cases.
func (s *shrinker) half() int {
	for n, i := range s.order {
		if n >= len(s.order)/2 && conditional(s.p[i]) {
			return n + 1
		}
	}
	return len(s.order)
}

// at returns the first instruction from i on that remains.
func (s *shrinker) at(i int) int {
	for s.skip[i] || s.p[i].code == bpfJa {
		if s.p[i].code == bpfJa {
			i += int(s.p[i].k)
		}
		i++
	}
	return i
}

// targets returns the successors of an instruction. For a condition, the first is the one if it holds.
func (s *shrinker) targets(i int) []int {
	if in := s.p[i]; conditional(in) {
		return []int{s.at(i + 1 + int(in.jt)), s.at(i + 1 + int(in.jf))}
	}
	return []int{s.at(i + 1)}
}

func conditional(i insn) bool {
	return i.code == bpfJeq || i.code == bpfJgt || i.code == bpfJge || i.code == bpfJset
}

// write generates the instructions. It returns nil if a jump is too long or an instruction is not followed by its
// successor.
func (s *shrinker) write() []insn {
	s.ends = [2][]uint32{s.answers(s.order[:s.middle]), s.answers(s.order[s.middle:])}
	out := make([]insn, 0, len(s.p))
	for n, i := range s.order {
		if n == s.middle {
			out = answer(out, s.ends[0])
		}
		in := s.p[i]
		to := s.targets(i)
		if !conditional(in) {
			if s.p[to[0]].code == bpfRet || s.place[to[0]] != n+1 {
				return nil
			}
			out = append(out, in)
			continue
		}
		jt, jf := s.where(to[0], n)-len(out)-1, s.where(to[1], n)-len(out)-1
		if jt > 255 || jf > 255 {
			return nil
		}
		out = append(out, insn{in.code, uint8(jt), uint8(jf), in.k})
	}
	return answer(out, s.ends[min(len(s.order)-s.middle, 1)])
}

// answers returns the answers to which some instructions jump.
func (s *shrinker) answers(of []int) (list []uint32) {
	for _, i := range of {
		for _, to := range s.targets(i) {
			if in := s.p[to]; in.code == bpfRet && !slices.Contains(list, in.k) {
				list = append(list, in.k)
			}
		}
	}
	return list
}

func answer(out []insn, with []uint32) []insn {
	for _, k := range with {
		out = append(out, insn{code: bpfRet, k: k})
	}
	return out
}

// where returns the position of an instruction to which the one with number n jumps.
func (s *shrinker) where(i, n int) int {
	at, isAnswer := s.place[i], s.p[i].code == bpfRet
	switch {
	case isAnswer && n < s.middle:
		return s.middle + slices.Index(s.ends[0], s.p[i].k)
	case isAnswer:
		return len(s.order) + len(s.ends[0]) + slices.Index(s.ends[1], s.p[i].k)
	case at < s.middle:
		return at
	}
	return at + len(s.ends[0])
}

// redundant marks masks of all bits, and loads of the word that the accumulator already holds on every path.
func redundant(p []insn) []bool {
	const nothing, several = -1, -2
	skip, holds := make([]bool, len(p)), make([]int, len(p)+1)
	for i := range holds {
		holds[i] = nothing
	}
	meet := func(i, what int) {
		if holds[i] == nothing {
			holds[i] = what
		} else if holds[i] != what {
			holds[i] = several
		}
	}
	meet(0, several)
	for i, in := range p {
		now := holds[i]
		switch {
		case in.code == bpfLoad:
			skip[i] = now == int(in.k)
			now = int(in.k)
		case in.code == bpfAnd && in.k == 0xffffffff:
			skip[i] = true
		case conditional(in):
			meet(i+1+int(in.jt), now)
			meet(i+1+int(in.jf), now)
			continue
		case in.code == bpfJa:
			meet(i+1+int(in.k), now)
			continue
		case in.code == bpfRet:
			continue
		default:
			now = several
		}
		meet(i+1, now)
	}
	return skip
}
