package seccomp

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Op compares an argument with a constant, unsigned, 64 bits wide.
type Op uint8

// The operators.
const (
	NotEqual Op = iota
	Less
	LessOrEqual
	Equal
	GreaterOrEqual
	Greater
	MaskedEq // argument & Mask == Value
)

// Cond is one comparison of a Rule.
type Cond struct {
	Arg   int    `json:"arg"`
	Op    Op     `json:"op"`
	Mask  uint64 `json:"mask,omitempty"` // for MaskedEq
	Value uint64 `json:"value"`
}

// ops are the operators, in the profile's words and in C's notation. The mask of MaskedEq is printed with the argument.
var ops = [...]struct{ word, sign string }{
	NotEqual: {"SCMP_CMP_NE", "!="}, Less: {"SCMP_CMP_LT", "<"}, LessOrEqual: {"SCMP_CMP_LE", "<="},
	Equal: {"SCMP_CMP_EQ", "=="}, GreaterOrEqual: {"SCMP_CMP_GE", ">="}, Greater: {"SCMP_CMP_GT", ">"},
	MaskedEq: {"SCMP_CMP_MASKED_EQ", "=="},
}

func opNames() (names []string) {
	for _, o := range ops {
		names = append(names, o.word)
	}
	return names
}

func parseOp(name string) (Op, bool) {
	i := slices.Index(opNames(), name)
	return Op(max(i, 0)), i >= 0
}

// String returns the operator in C's notation.
func (o Op) String() string {
	if int(o) >= len(ops) {
		return fmt.Sprintf("Op(%d)", uint8(o))
	}
	return ops[o].sign
}

// MarshalText returns the profile's word.
func (o Op) MarshalText() ([]byte, error) {
	if int(o) >= len(ops) {
		return nil, fmt.Errorf("seccomp: unknown operator %d", uint8(o))
	}
	return []byte(ops[o].word), nil
}

// Holds reports whether the arguments of a call meet the condition.
func (c Cond) Holds(args [6]uint64) bool {
	v := args[c.Arg]
	switch c.Op {
	case NotEqual:
		return v != c.Value
	case Less:
		return v < c.Value
	case LessOrEqual:
		return v <= c.Value
	case Equal:
		return v == c.Value
	case GreaterOrEqual:
		return v >= c.Value
	case Greater:
		return v > c.Value
	case MaskedEq:
		return v&c.Mask == c.Value
	}
	return false
}

// canHold reports whether any argument vector meets all conditions. The arguments are independent of each other.
func canHold(conds []Cond) bool {
	for arg := range 6 {
		if !argCanHold(slices.DeleteFunc(slices.Clone(conds), func(c Cond) bool { return c.Arg != arg })) {
			return false
		}
	}
	return true
}

// argCanHold reports whether a value of one argument can meet all conditions: it must have the bits of all masks, lie
// between the bounds, and be none of the excluded values.
func argCanHold(conds []Cond) bool {
	lo, hi, mask, want := uint64(0), uint64(math.MaxUint64), uint64(0), uint64(0)
	excluded := map[uint64]bool{}
	for _, c := range conds {
		v := c.Value
		switch c.Op {
		case NotEqual:
			excluded[v] = true
		case Equal:
			lo, hi = max(lo, v), min(hi, v)
		case LessOrEqual:
			hi = min(hi, v)
		case GreaterOrEqual:
			lo = max(lo, v)
		case Less:
			if v == 0 {
				return false
			}
			hi = min(hi, v-1)
		case Greater:
			if v == math.MaxUint64 {
				return false
			}
			lo = max(lo, v+1)
		case MaskedEq:
			if (want^v)&mask&c.Mask != 0 {
				return false
			}
			mask, want = mask|c.Mask, want|v
		}
	}
	for {
		v, ok := atLeast(lo, mask, want)
		if !ok || v > hi {
			return false
		}
		if !excluded[v] {
			return true
		}
		if v == math.MaxUint64 {
			return false
		}
		lo = v + 1
	}
}

// atLeast returns the smallest value from lo on that equals want under mask.
func atLeast(lo, mask, want uint64) (uint64, bool) {
	for {
		wrong := (lo ^ want) & mask
		if wrong == 0 {
			return lo, true
		}
		top := uint64(1) << (bits.Len64(wrong) - 1)
		below := top<<1 - 1 // the bit and those below it
		if lo&top == 0 {
			lo = lo&^below | top
			continue
		}
		if lo|below == math.MaxUint64 {
			return 0, false
		}
		lo = (lo | below) + 1
	}
}

func (a Arg) cond() Cond {
	op, _ := parseOp(a.Op) // validated by Check
	if op == MaskedEq {
		return Cond{Arg: int(a.Index), Op: op, Mask: a.Value, Value: a.ValueTwo}
	}
	return Cond{Arg: int(a.Index), Op: op, Value: a.Value}
}
