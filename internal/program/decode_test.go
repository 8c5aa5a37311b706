package program

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
)

// decoded is a blob read back in Go by the layout that blob.go documents, independently of the encoder.
type decoded struct {
	nfds, kind, flags uint32
	cgroup            int32
	clone             uint64
	ops               []decodedOp
	data              []byte
	cells             map[uint64]bool
}

type decodedOp struct {
	nr                uint32
	save, slots, isPt uint8
	ok                [4]uint8
	a                 [6]uint64
}

// decode reads a blob and reports the first offset, size or padding that is not as documented.
func decode(b []byte) (*decoded, error) {
	ne := binary.NativeEndian
	u32 := func(o int) uint32 { return ne.Uint32(b[o:]) }
	if len(b) < 48 || u32(0) != Magic || int(u32(4)) != len(b) {
		return nil, fmt.Errorf("bad header % x", b[:min(len(b), 48)])
	}
	nops, nrel, off := int(u32(8)), int(u32(12)), int(u32(16))
	relocs := 48 + 64*nops
	if end := relocs + 4*nrel; off%8 != 0 || off < end || off >= end+8 || off >= len(b) || b[len(b)-1] != 0 {
		return nil, fmt.Errorf("data at %d after %d of %d bytes, last %d", off, end, len(b), b[len(b)-1])
	}
	d := &decoded{nfds: u32(20), kind: u32(24), cgroup: int32(u32(28)), clone: ne.Uint64(b[32:]), flags: u32(40),
		data: b[off:], cells: map[uint64]bool{}}
	for i := range nops {
		if err := d.op(b[48+64*i:]); err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
	}
	for i := range nrel {
		c := uint64(u32(relocs + 4*i))
		if c%8 != 0 || c+8 > uint64(len(d.data)) || d.cells[c] {
			return nil, fmt.Errorf("cell %d of %d is unaligned, outside or named twice", c, len(d.data))
		}
		if v := ne.Uint64(d.data[c:]); v >= uint64(len(d.data)) {
			return nil, fmt.Errorf("cell %d points to %d of %d", c, v, len(d.data))
		}
		d.cells[c] = true
	}
	return d, nil
}

func (d *decoded) op(b []byte) error {
	ne := binary.NativeEndian
	o := decodedOp{nr: ne.Uint32(b), save: b[4], slots: b[5], isPt: b[6], ok: [4]uint8(b[8:12])}
	if o.slots&o.isPt != 0 || (o.slots|o.isPt)>>6 != 0 || b[7] != 0 || ne.Uint32(b[12:]) != 0 {
		return fmt.Errorf("bits % x", b[4:16])
	}
	for k := range o.a {
		o.a[k] = ne.Uint64(b[16+8*k:])
		if o.slots>>k&1 != 0 && o.a[k] >= MaxSlots {
			return fmt.Errorf("argument %d is slot %d", k, o.a[k])
		}
		if o.isPt>>k&1 != 0 && o.a[k] >= uint64(len(d.data)) {
			return fmt.Errorf("argument %d points to %d of %d", k, o.a[k], len(d.data))
		}
	}
	d.ops = append(d.ops, o)
	return nil
}

// same compares a blob with the program that it was made from.
func same(t *testing.T, p *Program, d *decoded) {
	t.Helper()
	if len(d.ops) != len(p.Ops) || int(d.nfds) != p.fds {
		t.Fatalf("%d operations and %d descriptors, want %d and %d", len(d.ops), d.nfds, len(p.Ops), p.fds)
	}
	for i, o := range p.Ops {
		got := d.ops[i]
		save := uint8(0xff)
		if o.Save >= 0 {
			save = uint8(o.Save)
		}
		if got.nr != o.NR || got.save != save || got.ok != o.OK {
			t.Errorf("operation %d is %+v, want %+v", i, got, o)
		}
		for k := range got.a {
			want := Arg{}
			if k < len(o.Args) {
				want = o.Args[k]
			}
			if err := d.arg(got, k, &want); err != nil {
				t.Errorf("operation %d, argument %d: %v", i, k, err)
			}
		}
	}
}

func (d *decoded) arg(o decodedOp, k int, want *Arg) error {
	kind := kInt
	if o.slots>>k&1 != 0 {
		kind = kSlot
	} else if o.isPt>>k&1 != 0 {
		kind = kData
	}
	if kind != want.kind || kind != kData && o.a[k] != want.val {
		return fmt.Errorf("kind %d value %#x, want kind %d value %#x", kind, o.a[k], want.kind, want.val)
	}
	if kind != kData {
		return nil
	}
	off := o.a[k]
	if off+uint64(len(want.data.bytes)) > uint64(len(d.data)) {
		return fmt.Errorf("%d bytes at %d of %d", len(want.data.bytes), off, len(d.data))
	}
	have := bytes.Clone(d.data[off : off+uint64(len(want.data.bytes))])
	for _, p := range want.data.ptrs {
		cell := off + uint64(p.cell)
		to := binary.NativeEndian.Uint64(d.data[cell:])
		if !d.cells[cell] {
			return fmt.Errorf("cell %d is not relocated", cell)
		}
		if p.data == nil && to != off+uint64(p.self) || p.data != nil && !bytes.HasPrefix(d.data[to:], p.data) {
			return fmt.Errorf("cell %d points to %d, which is something else", cell, to)
		}
		copy(have[p.cell:], want.data.bytes[p.cell:p.cell+8])
	}
	if !bytes.Equal(have, want.data.bytes) {
		return fmt.Errorf("bytes %q, want %q", have, want.data.bytes)
	}
	return nil
}
