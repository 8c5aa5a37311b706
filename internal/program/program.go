// Package program implements the flat list of system calls that makes a jail. It is pure data: a keeper builds it,
// String prints it, and the launcher performs the same list from its binary form (Encode). There are no branches and no
// loops; an operation can refer to the result of an earlier one by a Slot.
package program

import (
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Slot holds a number while the program runs: first the passed file descriptors, then saved results. There are
// MaxSlots.
type Slot int

// MaxSlots is how many slots the launcher has.
const MaxSlots = 256

// The pseudo system calls of the launcher. Their numbers are above all real ones.
const (
	// Fork splits the process: the parent becomes init, and the child continues with the list. Arguments: the slot of
	// the report socket; the number of the slot in which the list will store a filter's listener, or 0; the number of
	// tmpfs mounts that are open for init at fixed descriptor numbers; the number of operations after Fork that init
	// performs itself, while the child continues after them; the ABI whose notices ask for EPERM; the mode of init
	// (launcher.InitTraces, InitStays).
	Fork = 0xffff0001
	// Serve makes the process the init of a box, which performs other programs as the keeper sends them. Arguments: the
	// slot of the report socket, and the number of tmpfs mounts as in Fork. In such a program Fork creates a process of
	// the box, which continues with the list; init performs the next one.
	Serve = 0xffff0006
	// Post is one of init's operations: it notifies the child that init has reached it. The end of init's operations
	// notifies the child, too.
	Post = 0xffff0005
	// Join waits for that number of notifications from init.
	Join = 0xffff0004
	// Park waits for the suffix of the list, which the keeper sends when it knows it (Rest). Arguments: the slot of the
	// report socket; the number of the first slot for the descriptors sent with it.
	Park = 0xffff0003
	// Same checks that a descriptor refers to the file that the keeper examined. Arguments: slot, device number, inode
	// number.
	Same = 0xffff0002
)

type kind uint8

const (
	kInt kind = iota
	kData
	kSlot
)

// Arg is one argument of an operation: a constant, bytes in the program's data, or a slot. Int, Named, Str, Bytes,
// Strs, Struct and Slot.Arg return one.
type Arg struct {
	val  uint64 // constant or slot
	text string // the text that String prints for a constant; "" prints the value
	data *data  // bytes, for the kind kData
	kind kind
}

// data is the target of a pointer argument.
type data struct {
	bytes []byte
	ptrs  []ptr               // cells that point to further data
	show  func([]byte) string // formatted only when printed
	list  []string            // the strings, for Strs
}

type ptr struct {
	cell int    // offset into data of an 8-byte cell
	data []byte // the target; nil: offset self of the same data
	self int
}

// Op is one system call with its label.
type Op struct {
	Label string
	NR    uint32
	Args  []Arg
	Save  Slot     // the slot for the result; -1 for none
	OK    [4]uint8 // errnos that are not failures: the caller's comment has the reason
	Trial bool     // after an errno in OK, a fallback follows: String prints "or go on"
}

// Program is a list of operations being built.
type Program struct {
	Ops  []Op
	fds  int // number of slots with passed descriptors
	next Slot
	free []Slot
	rest bool // it is the suffix of another list
}

// New returns a program that will receive fds descriptors, in slots 0 to fds-1.
func New(fds int) *Program { return &Program{fds: fds, next: Slot(fds), Ops: make([]Op, 0, 384)} }

// NewAt is like New, but the slots for results begin at first, so that they do not depend on the number of descriptors.
func NewAt(fds int, first Slot) *Program {
	p := New(fds)
	p.next = max(p.next, first)
	return p
}

// Park appends the operation that waits for the suffix of the list, which comes with fds descriptors. It returns the
// slot of the first of these.
func (p *Program) Park(label string, report Slot) (first Slot) {
	p.Add(label, Park, report.Arg(), Named(int(p.next), "&$"+strconv.Itoa(int(p.next))))
	return p.next + 1 // the suffix itself is in the slot before
}

// Rest returns the suffix of a list that ends with Park. It receives fds descriptors, and all slots keep their values.
func (p *Program) Rest(fds int) *Program {
	return &Program{fds: fds + 1, next: p.next + Slot(fds) + 1, free: slices.Clone(p.free), rest: true,
		Ops: make([]Op, 0, 48)}
}

// NewRest returns a list for the init of a box. It receives fds descriptors, of which the first is the list itself.
func NewRest(fds int) *Program {
	return &Program{fds: fds, next: Slot(fds), rest: true, Ops: make([]Op, 0, 48)}
}

// Int returns a constant.
func Int[T ~int | ~int64 | ~uint64 | ~uint32 | ~uintptr | ~int32](v T) Arg {
	return Arg{val: uint64(v)}
}

// Named returns a constant that is printed as text, such as AT_FDCWD.
func Named[T ~int | ~int64 | ~uint64 | ~uint32 | ~uintptr | ~int32](v T, text string) Arg {
	return Arg{val: uint64(v), text: text}
}

// CWD returns AT_FDCWD.
func CWD() Arg { return Named(unix.AT_FDCWD, "AT_FDCWD") }

// Str returns a NUL-terminated string.
//
//go:noinline
func Str(s string) Arg {
	return Arg{kind: kData, data: &data{bytes: append([]byte(s), 0), show: showString}}
}

// Bytes returns a buffer. Only its length is printed.
func Bytes(b []byte) Arg {
	return Arg{kind: kData, data: &data{bytes: b, show: showLength}}
}

// Struct returns a buffer with a C structure, printed by show.
func Struct(b []byte, show func(data []byte) string) Arg {
	return Arg{kind: kData, data: &data{bytes: b, show: show}}
}

// Text returns a show function with a fixed text.
func Text(s string) func([]byte) string { return func([]byte) string { return s } }

// Strs returns a NULL-terminated array of strings: an argv or envp.
func Strs(ss []string) Arg {
	d := &data{bytes: make([]byte, 8*(len(ss)+1)), ptrs: make([]ptr, 0, len(ss)), list: ss}
	for i, s := range ss {
		d.ptrs = append(d.ptrs, ptr{cell: 8 * i, data: append([]byte(s), 0)})
	}
	return Arg{kind: kData, data: d}
}

// WithPointer returns a Struct whose 8-byte cell points to data: a struct sock_fprog or iovec.
func (a Arg) WithPointer(cell int, data []byte) Arg {
	a.data.ptrs = append(a.data.ptrs, ptr{cell: cell, data: data})
	return a
}

// WithOwnPointer returns a Struct whose 8-byte cell points to offset to in the same buffer.
func (a Arg) WithOwnPointer(cell, to int) Arg {
	a.data.ptrs = append(a.data.ptrs, ptr{cell: cell, self: to})
	return a
}

// Arg returns the value in the slot as an argument.
func (s Slot) Arg() Arg { return Arg{kind: kSlot, val: uint64(s)} }

// Add appends an operation and returns it, for Keep and May. If its hundreds of calls and those of Str were inlined,
// cmd/brig would be 78 kB larger.
//
//go:noinline
func (p *Program) Add(label string, nr uintptr, args ...Arg) *Op {
	p.Ops = append(p.Ops, Op{Label: label, NR: uint32(nr), Args: args, Save: -1})
	return &p.Ops[len(p.Ops)-1]
}

// May lists errnos after which the program continues.
func (o *Op) May(errnos ...unix.Errno) *Op {
	o.Trial = true
	for i, e := range errnos {
		o.OK[i] = uint8(e)
	}
	return o
}

// Reserve returns a slot for the result of a later operation.
func (p *Program) Reserve() (s Slot) {
	if n := len(p.free); n > 0 {
		s, p.free = p.free[n-1], p.free[:n-1]
	} else {
		s, p.next = p.next, p.next+1
	}
	return s
}

// Hold reserves the slots that are free now until release: operations that are performed at the same time must not
// share slots.
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

// Expect appends read(2) of a file that must hold this text, which the launcher compares (EBADMSG). The text is the
// fourth argument, at which the kernel does not look.
func (p *Program) Expect(label string, fd Slot, text string) {
	p.Add(label, unix.SYS_READ, fd.Arg(), Bytes(make([]byte, len(text)+2)), Int(len(text)+1), Str(text))
}

// Close appends close(2) and frees the slot.
func (p *Program) Close(label string, s Slot) {
	p.Add(label, unix.SYS_CLOSE, s.Arg())
	p.free = append(p.free, s)
}
