package diffs

import (
	"context"
	"io"
)

// limited keeps what is written to it, and fails after most bytes. Its one way in is Write: an embedded buffer would
// offer others (io.StringWriter, io.ReaderFrom), which know no bound.
type limited struct {
	ctx  context.Context // after its end nothing is taken
	text []byte          // no more than most bytes, and one
	most int
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if err := context.Cause(l.ctx); err != nil {
		return 0, err
	}
	n := min(len(p), l.most+1-len(l.text))
	if l.text = append(l.text, p[:n]...); l.full() {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// full reports whether more was written than fits.
func (l *limited) full() bool { return len(l.text) > l.most }
