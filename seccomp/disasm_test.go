package seccomp

import (
	"fmt"
	"runtime"
	"strings"
)

// loaded is what the accumulator holds, as far as it is known before an instruction runs.
type loaded int

const (
	unreached loaded = iota
	anything
	theNr
	theArch
)

// disassemble prints a filter, one instruction a line, with the system call's name where a number is compared.
func disassemble(bpf []byte) string {
	p, err := decodeProgram(bpf)
	if err != nil {
		return "; " + err.Error() + "\n"
	}
	var b strings.Builder
	for at, holds := range track(p) {
		fmt.Fprintf(&b, "%04d  %s\n", at, strings.TrimRight(p[at].text(at, holds), " "))
	}
	return b.String()
}

// track finds what the accumulator holds at each instruction. Jumps go forward, so one pass sees every predecessor.
func track(p []insn) []loaded {
	in := make([]loaded, len(p))
	in[0] = anything
	flow := func(to int, v loaded) {
		switch {
		case to >= len(p):
		case in[to] == unreached:
			in[to] = v
		case in[to] != v:
			in[to] = anything
		}
	}
	for at, i := range p {
		if in[at] == unreached {
			continue
		}
		switch i.code & 7 {
		case 6: // returns
		case 5:
			if i.code == bpfJa {
				flow(at+1+int(i.k), in[at])
				continue
			}
			flow(at+1+int(i.jt), in[at])
			flow(at+1+int(i.jf), in[at])
		case 1, 2, 3: // LDX, ST, STX leave the accumulator alone
			flow(at+1, in[at])
		default:
			flow(at+1, i.leaves())
		}
	}
	return in
}

func (i insn) leaves() loaded {
	switch {
	case i.code == bpfLoad && i.k == offNr:
		return theNr
	case i.code == bpfLoad && i.k == offArch:
		return theArch
	}
	return anything
}

func (i insn) text(at int, holds loaded) string {
	switch i.code {
	case bpfLoad:
		return "ld   " + fieldName(i.k)
	case bpfRet:
		return "ret  " + Action(i.k).String()
	case bpfJa:
		return fmt.Sprintf("jmp  %04d", at+1+int(i.k))
	case bpfJeq, bpfJgt, bpfJge, bpfJset:
		op := map[uint16]string{bpfJeq: "jeq", bpfJgt: "jgt", bpfJge: "jge", bpfJset: "jset"}[i.code]
		return fmt.Sprintf("%-4s %-28s %04d else %04d", op, i.operand(holds), at+1+int(i.jt), at+1+int(i.jf))
	case 0x54:
		return fmt.Sprintf("and  %#x", i.k)
	case 0x60:
		return fmt.Sprintf("ld   M[%d]", i.k)
	case 0x02:
		return fmt.Sprintf("st   M[%d]", i.k)
	}
	return fmt.Sprintf("op   %#x jt=%d jf=%d k=%#x", i.code, i.jt, i.jf, i.k)
}

func (i insn) operand(holds loaded) string {
	switch holds {
	case theNr:
		if name, ok := SyscallName(int(i.k)); ok {
			return fmt.Sprintf("%d (%s)", i.k, name)
		}
		if i.k == x32Bit {
			return "0x40000000 (x32)"
		}
		return fmt.Sprint(i.k)
	case theArch:
		if a, ok := findArch(runtime.GOARCH); ok && a.audit == i.k {
			return fmt.Sprintf("%#x (%s)", i.k, a.goName)
		}
	}
	return fmt.Sprintf("%#x", i.k)
}

// fieldName names a word of seccomp_data. Which half of an argument comes first is the machine's byte order.
func fieldName(off uint32) string {
	switch {
	case off == offNr:
		return "nr"
	case off == offArch:
		return "arch"
	case off < offArgs:
		return fmt.Sprintf("ip[%d]", (off-offIP)/4)
	}
	half := [2]string{"low", "high"}
	if bigEndian() {
		half = [2]string{"high", "low"}
	}
	return fmt.Sprintf("arg%d.%s", (off-offArgs)/8, half[(off-offArgs)/4%2])
}
