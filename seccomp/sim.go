package seccomp

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// insn is struct sock_filter.
type insn struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

const insnSize = 8

// The instructions that this package and libseccomp generate; see the kernel's bpf_common.h.
const (
	bpfLoad = 0x20 // LD|W|ABS
	bpfRet  = 0x06 // RET|K
	bpfJa   = 0x05 // JMP|JA
	bpfAnd  = 0x54 // ALU|AND|K
	bpfJeq  = 0x15 // JMP|JEQ|K, and so on
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

// decodeProgram decodes a filter and makes the kernel's checks that bound an interpreter.
func decodeProgram(bpf []byte) ([]insn, error) {
	n := len(bpf) / insnSize
	if n == 0 || len(bpf)%insnSize != 0 {
		return nil, fmt.Errorf("a filter of %d bytes is not a list of 8-byte instructions", len(bpf))
	}
	if n > maxInsns {
		return nil, fmt.Errorf("the filter has %d instructions, the kernel takes %d; use fewer rules with conditions", n,
			maxInsns)
	}
	p := make([]insn, n)
	for i := range p {
		b := bpf[i*insnSize:]
		p[i] = insn{binary.NativeEndian.Uint16(b), b[2], b[3], binary.NativeEndian.Uint32(b[4:])}
		if err := p[i].check(n - i - 1); err != nil {
			return nil, fmt.Errorf("instruction %d: %w", i, err)
		}
	}
	if p[n-1].code != bpfRet {
		return nil, fmt.Errorf("instruction %d: the last one does not return", n-1)
	}
	return p, nil
}

// check returns an error unless an instruction is one of those above, and its jumps stay within the remaining
// instructions.
func (i insn) check(rest int) error {
	switch {
	case i.code == bpfLoad && (i.k >= dataLen || i.k%4 != 0):
		return fmt.Errorf("loads from offset %d of seccomp_data", i.k)
	case i.code == bpfJa && int64(i.k) >= int64(rest), conditional(i) && max(int(i.jt), int(i.jf)) >= rest:
		return fmt.Errorf("jumps out of the filter")
	case i.code != bpfLoad && i.code != bpfJa && i.code != bpfRet && i.code != bpfAnd && !conditional(i):
		return fmt.Errorf("%#x is not an instruction of a filter of brig's", i.code)
	}
	return nil
}

// Simulate runs a filter on a call, as the kernel would. For a filter that the kernel would not load it returns
// KillProcess.
func Simulate(bpf []byte, d Data) Action {
	p, err := decodeProgram(bpf)
	if err != nil {
		return KillProcess
	}
	return run(p, d)
}

// PermitsAll reports whether a filter permits all of these calls of the machine's own architecture, with zeros as
// arguments.
func PermitsAll(bpf []byte, calls ...int32) bool {
	p, err := decodeProgram(bpf)
	return err == nil && !slices.ContainsFunc(calls, func(nr int32) bool { return !run(p, Data{Nr: nr}).Permits() })
}

// bigEndian reports whether the upper half of an argument is first in memory.
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

// run interprets a decoded program. Jumps go forward only, so it terminates.
func run(p []insn, d Data) Action {
	if d.Arch == 0 {
		d.Arch = NativeAudit()
	}
	data := d.bytes()
	var a uint32
	for pc := 0; pc < len(p); pc++ {
		i := p[pc]
		holds := false
		switch i.code {
		case bpfLoad:
			a = binary.NativeEndian.Uint32(data[i.k:])
		case bpfAnd:
			a &= i.k
		case bpfRet:
			return Action(i.k)
		case bpfJa:
			pc += int(i.k)
		case bpfJeq:
			holds = a == i.k
		case bpfJgt:
			holds = a > i.k
		case bpfJge:
			holds = a >= i.k
		case bpfJset:
			holds = a&i.k != 0
		}
		if conditional(i) {
			if holds {
				pc += int(i.jt)
			} else {
				pc += int(i.jf)
			}
		}
	}
	return KillProcess
}
