package program

import (
	"encoding/binary"
	"fmt"
)

// The binary form, in the byte order and with the word size of the machine:
//
//	header  48 bytes   magic size nops nreloc dataoff nfds kind cgroup(int32) cloneflags(uint64) flags netns(int32)
//	op      64 bytes   nr | save slots data flags | ok[4] | pad | six 64-bit arguments
//	reloc    4 bytes   offset into data of a cell that holds an offset into data
//	data               strings, structures, arrays; the last byte is NUL
//
// interpret.c reads it with the same layout and checks every offset before the first operation runs.
const (
	Magic      = 0x31475242 // "BRG1"
	HeaderSize = 48
	OpSize     = 64
	noSlot     = 0xff
	// MaxBlob bounds a program: argv and environment are at most 2 MiB on Linux (execve(2)), and the rest is small.
	MaxBlob = 16 << 20
)

// Kind is the process that performs a program.
type Kind uint32

// The kinds.
const (
	Spawn Kind = 0 // a new process, in new namespaces
	Self  Kind = 1 // the launcher itself
	Later Kind = 2 // a process that waits at Park
	Leave Kind = 3 // none: the keeper hands its jail to the launcher
)

// Request specifies how a program is performed.
type Request struct {
	Kind       Kind
	CloneFlags uint64 // clone3(2) flags: the new namespaces
	Cgroup     int    // index of the passed descriptor for CLONE_INTO_CGROUP, or -1
	Netns      int    // index of the passed descriptor of the network namespace to use, or 0 for none
	Ward       bool   // the launcher kills the process when the keeper has died (a jail without init)
}

// SizeError is the error for a program of more than MaxBlob bytes.
type SizeError int

// Error returns a text with both sizes.
func (e SizeError) Error() string {
	return fmt.Sprintf("program: %d bytes are more than %d", int(e), MaxBlob)
}

// Encode returns the binary form. It fails only for a program that is too large.
func (p *Program) Encode(r Request) ([]byte, error) {
	if p.rest {
		r = Request{Kind: Later, Cgroup: -1}
	}
	if p.next > noSlot {
		return nil, fmt.Errorf("program: %d slots are more than %d", p.next, noSlot)
	}
	e := encoder{arrays: map[*data]uint64{}}
	relocs, bytes := e.measure(p.Ops)
	dataOff := align8(HeaderSize + OpSize*len(p.Ops) + 4*relocs)
	size := dataOff + bytes + 1
	if size > MaxBlob {
		return nil, SizeError(size)
	}
	out := make([]byte, size) // one buffer of the right size: each touched page costs time at start
	e.relocs, e.data = out[HeaderSize+OpSize*len(p.Ops):][:0], out[dataOff:][:0]
	for i := range p.Ops {
		e.op(out[HeaderSize+OpSize*i:][:OpSize], &p.Ops[i])
	}
	le := binary.NativeEndian
	for i, v := range []uint32{Magic, uint32(size), uint32(len(p.Ops)), uint32(relocs), uint32(dataOff),
		uint32(p.fds), uint32(r.Kind), uint32(int32(r.Cgroup))} {
		le.PutUint32(out[4*i:], v)
	}
	le.PutUint64(out[32:], r.CloneFlags)
	if r.Ward {
		out[40] = 1
	}
	le.PutUint32(out[44:], uint32(int32(r.Netns)))
	return out, nil
}

// encoder fills the parts of a blob in place.
type encoder struct {
	data   []byte
	relocs []byte
	arrays map[*data]uint64 // the offsets of arrays already written: all execve(2) attempts share argv and environment
}

const unplaced = ^uint64(0)

// measure counts the relocations and the bytes that op will write, in the same order.
func (e *encoder) measure(ops []Op) (relocs, bytes int) {
	for i := range ops {
		for k := range ops[i].Args {
			a := &ops[i].Args[k]
			if a.kind != kData {
				continue
			}
			if len(a.data.ptrs) > 0 {
				if _, twice := e.arrays[a.data]; twice {
					continue
				}
				e.arrays[a.data] = unplaced
			}
			bytes = align8(bytes) + len(a.data.bytes)
			relocs += len(a.data.ptrs)
			for _, p := range a.data.ptrs {
				if p.data != nil {
					bytes = align8(bytes) + len(p.data)
				}
			}
		}
	}
	return relocs, bytes
}

func align8(n int) int { return (n + 7) &^ 7 }

func (e *encoder) put(b []byte) int {
	for len(e.data)%8 != 0 {
		e.data = append(e.data, 0)
	}
	off := len(e.data)
	e.data = append(e.data, b...)
	return off
}

func (e *encoder) arg(a *Arg) uint64 {
	if a.kind != kData {
		return a.val
	}
	array := len(a.data.ptrs) > 0
	if array && e.arrays[a.data] != unplaced {
		return e.arrays[a.data]
	}
	off := e.put(a.data.bytes)
	for _, p := range a.data.ptrs {
		to := off + p.self
		if p.data != nil {
			to = e.put(p.data)
		}
		binary.NativeEndian.PutUint64(e.data[off+p.cell:], uint64(to))
		e.relocs = binary.NativeEndian.AppendUint32(e.relocs, uint32(off+p.cell))
	}
	if array {
		e.arrays[a.data] = uint64(off)
	}
	return uint64(off)
}

// op writes an operation into a zeroed buffer.
func (e *encoder) op(b []byte, o *Op) {
	le := binary.NativeEndian
	le.PutUint32(b[0:], o.NR)
	b[4] = noSlot
	if o.Save >= 0 {
		b[4] = uint8(o.Save)
	}
	copy(b[8:12], o.OK[:])
	for i := range o.Args {
		a := &o.Args[i]
		switch a.kind {
		case kSlot:
			b[5] |= 1 << i
		case kData:
			b[6] |= 1 << i
		}
		le.PutUint64(b[16+8*i:], e.arg(a))
	}
}
