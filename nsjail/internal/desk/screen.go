package desk

import (
	"bytes"
	"os"
	"sync/atomic"
)

// maxLast is how many bytes of the end of the output a screen remembers.
const maxLast = 2 << 10

// screen shows a payload's output at the caller's terminal.
type screen struct {
	to   *os.File    // nil if it cannot be written to
	may  func() bool // waits until it may be written to; nil for always
	raw  atomic.Bool // it adds no carriage returns
	last []byte      // the end of the output
}

// Write shows a piece of the output. The caller's terminal adds the carriage returns itself, unless it is raw.
func (s *screen) Write(b []byte) (int, error) {
	if s.to == nil {
		return len(b), nil
	}
	s.remember(b)
	if s.may != nil && !s.may() {
		return len(b), nil
	}
	shown := b
	if !s.raw.Load() {
		shown = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	}
	if _, err := s.to.Write(shown); err != nil {
		return 0, err
	}
	return len(b), nil
}

// remember keeps the end of the output.
func (s *screen) remember(b []byte) {
	b = b[max(0, len(b)-maxLast):]
	s.last = append(s.last[max(0, len(s.last)+len(b)-maxLast):], b...)
}
