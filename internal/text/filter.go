package text

import (
	"io"
	"strings"
)

// Options configures a Filter. Every Filter also converts its input to valid UTF-8.
type Options struct {
	// Set has the values to mask, or is nil. A Filter may hold back as many bytes as the longest form of a value, so the
	// caller must limit the number and size of values.
	Set *Set
	// StripANSI removes terminal sequences (ECMA-48, xterm): CSI, OSC, DCS and similar ones, other escapes, and the
	// control characters U+0080 to U+009F. No ESC is left. An unterminated string, such as a window title, ends at the end
	// of the line or after 64 KiB.
	StripANSI bool
	// StripAll implies StripANSI, and also removes other characters that control a terminal or are invisible: control
	// characters except tabs and line ends, characters that change the text direction, zero-width characters, Unicode line
	// separators, tags and variation selectors. A carriage return without a line feed becomes a line end.
	StripAll bool
}

// Filter is an io.Writer that cleans its input and writes it to another writer. It is not safe for concurrent use.
type Filter struct {
	w      io.Writer
	first  stage
	out    []byte // output of the current Write
	err    error
	closed bool
}

// stage is one step of a Filter. The caller may overwrite b after write returns.
type stage interface {
	write(b []byte)
	close(cut bool) // cut: the input was cut off
}

// piece is the number of bytes processed at once, which limits the size of the buffers.
const piece = 64 << 10

// New returns a Filter that writes to w.
func New(w io.Writer, o Options) *Filter {
	f := &Filter{w: w}
	var next stage = (*output)(f)
	masks := o.Set != nil && o.Set.find != nil
	if masks && (o.Set.late || o.StripAll) {
		next = &masker{next: next, set: o.Set} // the stages before may have joined the parts of a secret
	}
	if o.StripAll {
		next = &unseen{next: next}
	}
	next = &fixer{next: next}
	if masks {
		next = &masker{next: next, set: o.Set}
	}
	if o.StripANSI || o.StripAll {
		next = &stripper{next: next}
	}
	f.first = next
	return f
}

// Clean returns a single text, such as an error or a name, as a Filter would write it.
func Clean(s string, o Options) string {
	var b strings.Builder
	f := New(&b, o)
	_, _ = io.WriteString(f, s) // a strings.Builder never fails
	_ = f.Close()
	return b.String()
}

// Write implements io.Writer. The end of the input may be held back until the next Write or Close: a possible beginning
// of a secret, or an incomplete rune. After an error of the underlying writer, every Write returns that error.
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

// Close writes what was held back. It does not close the underlying writer.
func (f *Filter) Close() error { return f.close(false) }

// CloseCut is Close for an output that was cut off, as by a timeout or a limit. If it ends with the beginning of a
// secret of at least four bytes, that is masked.
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

// output is the last stage. It collects the output, so that each Write of the Filter causes one Write of the underlying
// writer.
type output Filter

func (o *output) write(b []byte) { o.out = append(o.out, b...) }

func (o *output) close(bool) {}
