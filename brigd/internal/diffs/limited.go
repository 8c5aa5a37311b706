package diffs

import "io"

// limited keeps what is written to it, and fails after most bytes. Its one way in is Write: an embedded buffer would
// offer others (io.StringWriter, io.ReaderFrom), which know no bound.
type limited struct {
	text []byte // no more than most bytes, and one
	most int
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.most+1-len(l.text))
	if l.text = append(l.text, p[:n]...); l.full() {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// full reports whether more was written than fits.
func (l *limited) full() bool { return len(l.text) > l.most }
