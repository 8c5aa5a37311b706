package seccomp

import (
	"errors"
	"math/bits"
)

// A cube is a set of argument vectors: those whose bits under mask equal want. It is what a conjunction of
// SCMP_CMP_MASKED_EQ says, one comparison an argument, and thus what libseccomp can take. Cubes are closed under
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

// meet gives the intersection, false when it is empty.
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

// within says that every vector of c is in d.
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

// cubesOf gives the union that a conjunction of comparisons is; none at all when it can never hold.
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

// canHold says whether any argument vector meets all conditions. Arguments do not depend on each other.
func canHold(conds []Cond) (bool, error) {
	for arg := range 6 {
		var own []Cond
		for _, c := range conds {
			if c.Arg == arg {
				own = append(own, c)
			}
		}
		if cubes, err := cubesOf(own); err != nil || len(cubes) == 0 {
			return false, err
		}
	}
	return true, nil
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

// minus gives c without the cubes of cut, as disjoint cubes. It splits c bit by bit, first on a bit in which all of cut
// agree, for then one half is finished at once; the highest such bit first, because the values near the forbidden ones
// (other ioctls) are the usual ones, and libseccomp tries the longest masks first.
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
