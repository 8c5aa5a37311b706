package seccomp

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
)

// insn is struct sock_filter.
type insn struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

const insnSize = 8

// The instructions that this package writes or names; see the kernel's bpf_common.h.
const (
	bpfLoad = 0x20 // LD|W|ABS
	bpfRet  = 0x06 // RET|K
	bpfJa   = 0x05
	bpfAnd  = 0x54
	bpfJeq  = 0x15
	bpfJgt  = 0x25
	bpfJge  = 0x35
	bpfJset = 0x45
)

// Offsets in struct seccomp_data.
const (
	offNr   = 0
	offArch = 4
	offIP   = 8
	offArgs = 16
	dataLen = 64
)

func encode(p []insn) []byte {
	out := make([]byte, 0, len(p)*insnSize)
	for _, i := range p {
		out = binary.NativeEndian.AppendUint16(out, i.code)
		out = append(out, i.jt, i.jf)
		out = binary.NativeEndian.AppendUint32(out, i.k)
	}
	return out
}

// decodeProgram reads a filter and makes the checks of the kernel that keep an interpreter within it.
func decodeProgram(bpf []byte) ([]insn, error) {
	n := len(bpf) / insnSize
	if n == 0 || len(bpf)%insnSize != 0 {
		return nil, fmt.Errorf("a filter of %d bytes is not a list of 8-byte instructions", len(bpf))
	}
	if n > MaxInsns {
		return nil, fmt.Errorf("the filter has %d instructions, the kernel takes %d; use fewer rules with conditions", n, MaxInsns)
	}
	p := make([]insn, n)
	for i := range p {
		b := bpf[i*insnSize:]
		p[i] = insn{binary.NativeEndian.Uint16(b), b[2], b[3], binary.NativeEndian.Uint32(b[4:])}
		if err := p[i].check(n - i - 1); err != nil {
			return nil, fmt.Errorf("instruction %d: %w", i, err)
		}
	}
	if p[n-1].code&7 != 6 {
		return nil, fmt.Errorf("instruction %d: the last one does not return", n-1)
	}
	return p, nil
}

// check reports whether an instruction is one that seccomp(2) takes, with room for its jumps among the rest after it.
func (i insn) check(rest int) error {
	switch i.code {
	case bpfLoad:
		if i.k >= dataLen || i.k%4 != 0 {
			return fmt.Errorf("loads from offset %d of seccomp_data", i.k)
		}
	case 0x60, 0x61, 0x02, 0x03: // LD|MEM LDX|MEM ST STX
		if i.k >= 16 {
			return fmt.Errorf("uses scratch cell %d of 16", i.k)
		}
	case bpfJa:
		if int64(i.k) >= int64(rest) {
			return fmt.Errorf("jumps out of the filter")
		}
	case bpfJeq, bpfJgt, bpfJge, bpfJset, 0x1d, 0x2d, 0x3d, 0x4d:
		if max(int(i.jt), int(i.jf)) >= rest {
			return fmt.Errorf("jumps out of the filter")
		}
	case 0x34: // ALU|DIV|K
		if i.k == 0 {
			return fmt.Errorf("divides by zero")
		}
	case 0x64, 0x74: // shifts by a constant
		if i.k >= 32 {
			return fmt.Errorf("shifts by %d bits", i.k)
		}
	case bpfRet, 0x16, 0x00, 0x01, 0x80, 0x81, 0x07, 0x87, // RET A, LD/LDX IMM and LEN, TAX, TXA
		0x04, 0x14, 0x24, 0x44, 0x54, 0xa4, 0x84, // ALU|K
		0x0c, 0x1c, 0x2c, 0x3c, 0x4c, 0x5c, 0x6c, 0x7c, 0xac: // ALU|X
	default:
		return fmt.Errorf("%#x is not an instruction that seccomp takes", i.code)
	}
	return nil
}

// Simulate runs a filter on a call, as the kernel would. For what the kernel would not load it returns KillProcess.
func Simulate(bpf []byte, d Data) Action {
	p, err := decodeProgram(bpf)
	if err != nil {
		return KillProcess
	}
	return simulate(p, d)
}

func simulate(p []insn, d Data) Action {
	if d.Arch == 0 {
		a, _ := findArch(runtime.GOARCH)
		d.Arch = a.audit
	}
	return run(p, d)
}

// PermitsAll reports whether a filter lets all of these calls of the machine's own architecture happen, with zeros as arguments.
func PermitsAll(bpf []byte, calls ...int32) bool {
	p, err := decodeProgram(bpf)
	return err == nil && !slices.ContainsFunc(calls, func(nr int32) bool { return !simulate(p, Data{Nr: nr}).Permits() })
}

// bigEndian reports whether the upper half of an argument comes first.
func bigEndian() bool { return binary.NativeEndian.Uint16([]byte{0, 1}) == 1 }

func (d Data) bytes() (b [dataLen]byte) {
	binary.NativeEndian.PutUint32(b[offNr:], uint32(d.Nr))
	binary.NativeEndian.PutUint32(b[offArch:], d.Arch)
	binary.NativeEndian.PutUint64(b[offIP:], d.IP)
	for i, v := range d.Args {
		binary.NativeEndian.PutUint64(b[offArgs+8*i:], v)
	}
	return b
}

// run interprets a decoded program. Jumps go forward only, so it ends.
func run(p []insn, d Data) Action {
	data := d.bytes()
	var a, x uint32
	var mem [16]uint32
	for pc := 0; pc < len(p); pc++ {
		i := p[pc]
		switch i.code {
		case bpfLoad:
			a = binary.NativeEndian.Uint32(data[i.k:])
		case 0x00:
			a = i.k
		case 0x01:
			x = i.k
		case 0x80:
			a = dataLen
		case 0x81:
			x = dataLen
		case 0x60:
			a = mem[i.k]
		case 0x61:
			x = mem[i.k]
		case 0x02:
			mem[i.k] = a
		case 0x03:
			mem[i.k] = x
		case 0x07:
			x = a
		case 0x87:
			a = x
		case bpfRet:
			return Action(i.k)
		case 0x16:
			return Action(a)
		case bpfJa:
			pc += int(i.k)
		default:
			operand := i.k
			if i.code&8 != 0 {
				operand = x
			}
			if i.code&7 == 5 {
				pc += i.jump(a, operand)
				continue
			}
			if i.code&0xf0 == 0x30 && operand == 0 { // the kernel ends a filter that divides by zero
				return KillThread
			}
			a = i.alu(a, operand)
		}
	}
	return KillProcess
}

func (i insn) jump(a, operand uint32) int {
	var yes bool
	switch i.code & 0xf0 {
	case 0x10:
		yes = a == operand
	case 0x20:
		yes = a > operand
	case 0x30:
		yes = a >= operand
	case 0x40:
		yes = a&operand != 0
	}
	if yes {
		return int(i.jt)
	}
	return int(i.jf)
}

func (i insn) alu(a, operand uint32) uint32 {
	switch i.code & 0xf0 {
	case 0x00:
		return a + operand
	case 0x10:
		return a - operand
	case 0x20:
		return a * operand
	case 0x30:
		return a / operand
	case 0x40:
		return a | operand
	case 0x50:
		return a & operand
	case 0x60:
		return a << (operand & 31)
	case 0x70:
		return a >> (operand & 31)
	case 0x80:
		return -a
	}
	return a ^ operand
}
