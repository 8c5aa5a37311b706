package engine

import (
	"bytes"
	"io"
)

// limited is a buffer that takes no more than most bytes, and one.
type limited struct {
	bytes.Buffer
	most int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > l.most {
		l.Buffer.Write(p[:l.most+1-l.Len()])
		return 0, io.ErrShortWrite
	}
	return l.Buffer.Write(p)
}
