package text

import (
	"bytes"
	"io"
)

// Options are what a Filter does beside making UTF-8.
type Options struct {
	// Secrets are values to mask: each as it is, and as base64, hexadecimal, URLs and JSON write it. White space around
	// a value does not count, and one of less than MinSecret bytes is not masked: it would be found everywhere. Of a
	// value with several lines, each long one is masked, too. The longest form is what a Filter may hold back, so that
	// the caller bounds number and size.
	Secrets []string
	// Set takes the place of Secrets, if it is not nil: the same values for several Filters need be prepared only once.
	Set *Set
	// StripANSI removes terminal sequences (ECMA-48, xterm): CSI, OSC, DCS and the like, other escapes, and the control
	// characters U+0080 to U+009F. Afterwards no ESC is left. A string such as a window's title that has no end is
	// taken to end at the end of its line, or after 64 KiB.
	StripANSI bool
	// StripAll is StripANSI, and also removes what else acts on a terminal or is invisible: control characters but for
	// tabs and ends of lines, marks of the direction of writing, zero-width characters, line separators of Unicode, tags
	// and variation selectors. A carriage return that does not end a line ends one then.
	StripAll bool
}

// Filter is a writer that cleans what passes. It is for one goroutine at a time.
type Filter struct {
	w      io.Writer
	first  stage
	masks  []*masker
	out    []byte // what this Write has made so far
	err    error
	closed bool
}

// stage is one part of a Filter. What it is given may be overwritten after the call.
type stage interface {
	write(b []byte)
	close(cut bool) // cut: more would have come
}

// piece bounds what is worked on at once, and with it the buffers, in bytes.
const piece = 64 << 10

// New makes a Filter that writes to w.
func New(w io.Writer, o Options) *Filter {
	f := &Filter{w: w}
	set := o.Set
	if set == nil && len(o.Secrets) > 0 {
		set = NewSet(o.Secrets)
	}
	var next stage = (*output)(f)
	masks := set != nil && set.find != nil
	if masks && (set.late || o.StripAll) {
		next = f.mask(next, set) // a secret may only now be in one piece
	}
	if o.StripAll {
		next = &unseen{next: next}
	}
	next = &fixer{next: next}
	if masks {
		next = f.mask(next, set)
	}
	if o.StripANSI || o.StripAll {
		next = &stripper{next: next}
	}
	f.first = next
	return f
}

func (f *Filter) mask(next stage, s *Set) stage {
	m := newMasker(next, s)
	f.masks = append(f.masks, m)
	return m
}

// Clean is a text as a Filter would write it.
func Clean(s string, o Options) string {
	var b bytes.Buffer
	f := New(&b, o)
	_, _ = io.WriteString(f, s) // a Buffer takes everything
	_ = f.Close()
	return b.String()
}

// Masked is how many masks have been written so far.
func (f *Filter) Masked() (n int64) {
	for _, m := range f.masks {
		n += m.count
	}
	return n
}

// Write takes bytes. What they end with may be held back until the next Write or Close: the beginning of a secret, a
// part of a rune. After an error of the writer behind it, every Write returns that.
func (f *Filter) Write(b []byte) (n int, err error) {
	if f.closed {
		return 0, io.ErrClosedPipe
	}
	for n < len(b) && f.err == nil {
		part := b[n:min(n+piece, len(b))]
		f.first.write(part)
		if f.flush(); f.err == nil {
			n += len(part)
		}
	}
	return n, f.err
}

// Close writes what was held back. It does not close the writer behind the Filter.
func (f *Filter) Close() error { return f.close(false) }

// CloseCut is Close for an output that was cut, as by a timeout or a limit: if it ends with the beginning of a secret,
// of four bytes or more, a mask is written for that.
func (f *Filter) CloseCut() error { return f.close(true) }

func (f *Filter) close(cut bool) error {
	if !f.closed && f.err == nil {
		f.first.close(cut)
		f.flush()
	}
	f.closed = true
	return f.err
}

func (f *Filter) flush() {
	if len(f.out) == 0 {
		return
	}
	n, err := f.w.Write(f.out)
	if err == nil && n < len(f.out) {
		err = io.ErrShortWrite
	}
	f.out, f.err = f.out[:0], err
}

// output is the last stage: one Write of the Filter is one of the writer behind it.
type output Filter

func (o *output) write(b []byte) { o.out = append(o.out, b...) }

func (o *output) close(bool) {}
