package seccomp

import (
	"fmt"
	"math"
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

func opNames() []string {
	return []string{"SCMP_CMP_NE", "SCMP_CMP_LT", "SCMP_CMP_LE", "SCMP_CMP_EQ", "SCMP_CMP_GE", "SCMP_CMP_GT", "SCMP_CMP_MASKED_EQ"}
}

func parseOp(name string) (Op, bool) {
	for i, n := range opNames() {
		if n == name {
			return Op(i), true
		}
	}
	return 0, false
}

// String is the operator of C; MaskedEq is "==", its mask is written with the argument.
func (o Op) String() string {
	switch o {
	case NotEqual:
		return "!="
	case Less:
		return "<"
	case LessOrEqual:
		return "<="
	case Equal, MaskedEq:
		return "=="
	case GreaterOrEqual:
		return ">="
	case Greater:
		return ">"
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// MarshalText is the profile's word.
func (o Op) MarshalText() ([]byte, error) {
	if int(o) >= len(opNames()) {
		return nil, fmt.Errorf("seccomp: unknown operator %d", uint8(o))
	}
	return []byte(opNames()[o]), nil
}

// Holds says whether the condition is met by the arguments of a call.
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

// span is an inclusive range of values.
type span struct{ lo, hi uint64 }

// spans says where a condition other than MaskedEq holds.
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

func (a Arg) cond() Cond {
	op, _ := parseOp(a.Op) // Check has seen it
	if op == MaskedEq {
		return Cond{Arg: int(a.Index), Op: op, Mask: a.Value, Value: a.ValueTwo}
	}
	return Cond{Arg: int(a.Index), Op: op, Value: a.Value}
}
