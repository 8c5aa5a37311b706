package seccomp

import (
	"math/rand/v2"
	"testing"
)

// Any program and what shrink makes of it answer alike; and it does leave something out.
func TestShrinkKeepsTheMeaning(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	offsets := []uint32{offNr, offArch, offArgs, offArgs + 8}
	before, after := 0, 0
	for range 3000 {
		n := 4 + r.IntN(60)
		p := make([]insn, 0, n)
		for i := range n {
			left := n - i - 1
			switch k := uint32(r.IntN(4)); {
			case left == 0 || r.IntN(6) == 0:
				p = append(p, ret([]Action{Allow, KillProcess, ErrnoAction(1)}[r.IntN(3)]))
			case r.IntN(3) == 0 || i == 0:
				p = append(p, insn{code: bpfLoad, k: offsets[k]})
			case r.IntN(3) == 0:
				p = append(p, insn{code: bpfAnd, k: []uint32{0xffffffff, 1, 3, 0xffffffff}[k]})
			case r.IntN(8) == 0:
				p = append(p, insn{code: bpfJa, k: uint32(r.IntN(left))})
			default:
				code := []uint16{bpfJeq, bpfJgt, bpfJge, bpfJset}[r.IntN(4)]
				p = append(p, insn{code, uint8(r.IntN(left)), uint8(r.IntN(left)), k})
			}
		}
		q := shrink(p)
		before, after = before+len(p), after+len(q)
		if _, err := decodeProgram(encode(q)); err != nil {
			t.Fatalf("%v\n%s", err, disassemble(encode(q)))
		}
		for range 40 {
			d := Data{Nr: int32(r.IntN(4)), Arch: uint32(r.IntN(4)), Args: [6]uint64{uint64(r.IntN(4)), uint64(r.IntN(4))}}
			if a, b := Simulate(encode(p), d), Simulate(encode(q), d); a != b {
				t.Fatalf("%+v: %s, then %s\n%s\n%s", d, a, b, disassemble(encode(p)), disassemble(encode(q)))
			}
		}
	}
	if after > before*9/10 {
		t.Errorf("%d instructions of %d are left", after, before)
	}
}
