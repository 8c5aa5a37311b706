package nsjail

import (
	"sync/atomic"
	"time"
)

// meter counts a payload's output, and knows when the last of it came.
type meter struct {
	limit int64         // Limits.OutputLimit; 0 for none
	idle  time.Duration // Limits.Idle; 0 for none
	began time.Time
	end   func(cause) // ends the jail; set before anything is copied

	last  atomic.Int64 // the time of the last output, in nanoseconds since began
	bytes atomic.Int64
	over  atomic.Bool // the output is above the limit
}

// count counts n bytes of output, and returns how many of them the limit on output lets pass.
func (m *meter) count(n int) int {
	if m.idle > 0 {
		m.touch()
	}
	if m.limit == 0 {
		return n
	}
	over := m.bytes.Add(int64(n)) - m.limit
	if over <= 0 {
		return n
	}
	m.over.Store(true)
	m.end(endedOutput)
	return int(max(0, int64(n)-over))
}

// touch notes output now.
func (m *meter) touch() { m.last.Store(time.Since(m.began).Nanoseconds()) }

// quiet returns how long there has been no output.
func (m *meter) quiet() time.Duration { return time.Since(m.began) - time.Duration(m.last.Load()) }
