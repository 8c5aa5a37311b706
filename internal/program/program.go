// Package program is the flat list of system calls that makes a jail. It is pure data: a keeper builds it, anyone
// can print it (String), and the launcher performs the very same list from its binary form (Encode). There are no
// branches and no loops; an operation can name the result of an earlier one through a Slot.
package program

import (
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Slot holds a number during the run: first the passed file descriptors, then saved results. There are MaxSlots.
type Slot int

// MaxSlots is how many slots the launcher has.
const MaxSlots = 256

// The pseudo system calls that only the launcher knows. They lie above every real number.
const (
	// Fork splits the process: the parent becomes init, the child goes on with the list. Arguments: the slot of the
	// report socket; the number of the slot where the list will leave a filter's listener, or 0; how many tmpfs
	// mounts stand open for init at fixed descriptor numbers; how many of the operations that follow init performs itself,
	// while the child goes on behind them.
	Fork = 0xffff0001
	// Post is one of those: it says to the child that init has come so far. Their end says so, too.
	Post = 0xffff0005
	// Join waits until init has said so that many times.
	Join = 0xffff0004
	// Park waits for the rest of the list, which the keeper sends when it knows it (Rest): the slot of the report socket,
	// the number of the first slot for what comes with it.
	Park = 0xffff0003
	// Same checks that a descriptor is the file that the keeper looked at: slot, device number, inode number.
	Same = 0xffff0002
)

type kind uint8

const (
	kInt kind = iota
	kData
	kSlot
)

// Arg is one argument of an operation: a constant, bytes in the program's data, or a slot. Make one with Int,
// Named, Str, Bytes, Strs, Struct or the Slot's Arg.
type Arg struct {
	val  uint64 // constant or slot
	text string // what String prints of a constant; "" prints the value
	data *data  // bytes, for the kind kData
	kind kind
}

// data is what a pointer argument points to.
type data struct {
	bytes []byte
	ptrs  []ptr               // cells that point to further data
	show  func([]byte) string // texts are made only when somebody reads them
	list  []string            // Strs: what it points to
}

type ptr struct {
	cell int    // offset into data of an 8-byte cell
	data []byte // what it points to; nil: the offset self of the same data
	self int
}

// Op is one system call with its label.
type Op struct {
	Label string
	NR    uint32
	Args  []Arg
	Save  Slot     // where the result goes; -1 for nowhere
	OK    [4]uint8 // errnos that are not failures: the man page says why at each use
	Trial bool     // a failure with an errno in OK is the plan's next-best case: String says "or go on"
}

// Program is a list of operations being built.
type Program struct {
	Ops  []Op
	fds  int // slots that hold passed descriptors
	next Slot
	free []Slot
	rest bool // it is the rest of another list
}

// New starts a program that will receive fds descriptors, in slots 0 to fds-1.
func New(fds int) *Program { return &Program{fds: fds, next: Slot(fds), Ops: make([]Op, 0, 384)} }

// NewAt is New for a list whose own slots begin at a fixed number, so that they do not depend on how much comes with
// it.
func NewAt(fds int, first Slot) *Program {
	p := New(fds)
	p.next = max(p.next, first)
	return p
}

// Park appends the operation that waits for the rest of the list, which comes with fds descriptors and its own, and
// gives the slot of the first of them.
func (p *Program) Park(label string, report Slot) (first Slot) {
	p.Add(label, Park, report.Arg(), Named(int(p.next), "&$"+strconv.Itoa(int(p.next))))
	return p.next + 1 // the rest itself lies before
}

// Rest starts the rest of a list that ends with Park. It comes with fds descriptors, and finds all slots as they were.
func (p *Program) Rest(fds int) *Program {
	return &Program{fds: fds + 1, next: p.next + Slot(fds) + 1, free: slices.Clone(p.free), rest: true,
		Ops: make([]Op, 0, 48)}
}

// FDs is how many descriptors the program expects.
func (p *Program) FDs() int { return p.fds }

// Int is a constant.
func Int[T ~int | ~int64 | ~uint64 | ~uint32 | ~uintptr | ~int32](v T) Arg {
	return Arg{val: uint64(v)}
}

// Named is a constant that prints as text, such as AT_FDCWD.
func Named[T ~int | ~int64 | ~uint64 | ~uint32 | ~uintptr | ~int32](v T, text string) Arg {
	return Arg{val: uint64(v), text: text}
}

// CWD is AT_FDCWD.
func CWD() Arg { return Named(unix.AT_FDCWD, "AT_FDCWD") }

// Str is a NUL-terminated string.
func Str(s string) Arg {
	return Arg{kind: kData, data: &data{bytes: append([]byte(s), 0), show: showString}}
}

// Bytes is a buffer, printed as its length.
func Bytes(b []byte) Arg {
	return Arg{kind: kData, data: &data{bytes: b, show: showLength}}
}

// Struct is a buffer that prints as show says: a C structure.
func Struct(b []byte, show func(data []byte) string) Arg {
	return Arg{kind: kData, data: &data{bytes: b, show: show}}
}

// Text is a show for a structure with only one meaning.
func Text(s string) func([]byte) string { return func([]byte) string { return s } }

// Strs is a NULL-terminated array of strings: an argv or envp.
func Strs(ss []string) Arg {
	d := &data{bytes: make([]byte, 8*(len(ss)+1)), list: ss}
	for i, s := range ss {
		d.ptrs = append(d.ptrs, ptr{cell: 8 * i, data: append([]byte(s), 0)})
	}
	return Arg{kind: kData, data: d}
}

// WithPointer makes a Struct whose 8-byte cell points to data: a struct sock_fprog or iovec.
func (a Arg) WithPointer(cell int, data []byte) Arg {
	a.data.ptrs = append(a.data.ptrs, ptr{cell: cell, data: data})
	return a
}

// WithOwnPointer makes a Struct whose 8-byte cell points to the offset to of the same buffer.
func (a Arg) WithOwnPointer(cell, to int) Arg {
	a.data.ptrs = append(a.data.ptrs, ptr{cell: cell, self: to})
	return a
}

// Arg makes the value in the slot an argument.
func (s Slot) Arg() Arg { return Arg{kind: kSlot, val: uint64(s)} }

// Add appends an operation. The result of a call chain is the operation, for Keep and May.
func (p *Program) Add(label string, nr uintptr, args ...Arg) *Op {
	p.Ops = append(p.Ops, Op{Label: label, NR: uint32(nr), Args: args, Save: -1})
	return &p.Ops[len(p.Ops)-1]
}

// May lists errnos with which the program goes on.
func (o *Op) May(errnos ...unix.Errno) *Op {
	o.Trial = true
	for i, e := range errnos {
		o.OK[i] = uint8(e)
	}
	return o
}

// Reserve gives a slot for the result of an operation to come.
func (p *Program) Reserve() (s Slot) {
	if n := len(p.free); n > 0 {
		s, p.free = p.free[n-1], p.free[:n-1]
	} else {
		s, p.next = p.next, p.next+1
	}
	return s
}

// Hold keeps the slots that are free now from being used, until release: those of operations that are performed at
// the same time must differ.
func (p *Program) Hold() (release func()) {
	held := p.free
	p.free = nil
	return func() { p.free = append(p.free, held...) }
}

// Open appends an operation whose result is a new descriptor and returns its slot.
func (p *Program) Open(label string, nr uintptr, args ...Arg) Slot {
	s := p.Reserve()
	p.Add(label, nr, args...).Save = s
	return s
}

// Close appends close(2) and frees the slot.
func (p *Program) Close(label string, s Slot) {
	p.Add(label, unix.SYS_CLOSE, s.Arg())
	p.free = append(p.free, s)
}
