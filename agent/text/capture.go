package text

import (
	"strconv"
	"unicode/utf8"
)

// Capture is an io.Writer that keeps the head and the tail of its input, limited in total size, and counts the bytes in
// between. It is not safe for concurrent use.
type Capture struct {
	limit int64
	head  []byte
	tail  []byte // a ring buffer when it is full
	next  int    // index of the oldest byte in a full ring
	total int64
}

// NewCapture returns a Capture with a limit in bytes. A Capture with a limit of 0 or less keeps nothing.
func NewCapture(limit int64) *Capture {
	return &Capture{limit: max(0, limit)}
}

// CaptureOf returns a Capture for output of total bytes of which kept is left: the head and the tail, divided as by a
// Capture with the same limit.
func CaptureOf(limit int64, kept []byte, total int64) *Capture {
	c := NewCapture(limit)
	n := len(kept)
	if int64(n) < c.limit { // the missing bytes came after these
		c.limit = max(c.limit, total)
	} else {
		n = c.headSize()
	}
	c.head, c.tail, c.total = kept[:n:n], kept[n:], total
	return c
}

// Write implements io.Writer. It never fails.
func (c *Capture) Write(b []byte) (int, error) {
	n := len(b)
	c.total += int64(n)
	if room := c.headSize() - len(c.head); room > 0 {
		k := min(room, len(b))
		c.head = add(c.head, b[:k], c.headSize())
		b = b[k:]
	}
	size := c.tailSize()
	if len(b) > size {
		b = b[len(b)-size:]
	}
	if room := min(size-len(c.tail), len(b)); room > 0 {
		c.tail = add(c.tail, b[:room], size)
		b = b[room:]
	}
	for len(b) > 0 {
		k := copy(c.tail[c.next:], b)
		c.next = (c.next + k) % size
		b = b[k:]
	}
	return n, nil
}

func (c *Capture) headSize() int { return int(c.limit - c.limit/2) }
func (c *Capture) tailSize() int { return int(c.limit / 2) }

// add appends b to a slice, whose capacity never exceeds most bytes.
func add(to, b []byte, most int) []byte {
	if need := len(to) + len(b); need > cap(to) {
		grown := make([]byte, len(to), min(most, max(need, 2*cap(to), 512)))
		copy(grown, to)
		to = grown
	}
	return append(to, b...)
}

// The line that String inserts for the missing bytes, and the part of the limit that is reserved for it: the number has
// at most 19 digits. If the limit is too small, there is no such line.
const (
	gapBefore   = "\n[... "
	gapAfter    = " bytes left out ...]\n"
	gapSize     = len(gapBefore) + 19 + len(gapAfter)
	minGapLimit = 4 * gapSize
)

// Parts returns what was kept: everything as head if nothing is missing, and otherwise head and tail, both without
// incomplete runes. len(head) + len(tail) + Dropped() is equal to Total().
func (c *Capture) Parts() (head, tail []byte) {
	last := append(c.tail[c.next:len(c.tail):len(c.tail)], c.tail[:c.next]...)
	if c.total <= c.limit {
		return append(c.head[:len(c.head):len(c.head)], last...), nil
	}
	head = c.head
	if c.limit >= int64(minGapLimit) {
		head = head[:len(head)-gapSize/2]
		last = last[gapSize-gapSize/2:]
	}
	return head[:len(head)-incomplete(head)], trimStart(last)
}

// trimStart removes an incomplete rune at the start.
func trimStart(b []byte) []byte {
	for n := 0; n < utf8.UTFMax && n < len(b); n++ {
		if utf8.RuneStart(b[n]) {
			return b[n:]
		}
	}
	if len(b) < utf8.UTFMax {
		return nil
	}
	return b // not UTF-8
}

// String returns what was kept, at most limit bytes. If bytes are missing, a line with their number is in between, if
// the limit is large enough for it (184 bytes). A payload can print such a line too; use Dropped to find out.
func (c *Capture) String() string {
	head, tail := c.Parts()
	dropped := c.total - int64(len(head)) - int64(len(tail))
	if dropped > 0 && c.limit >= int64(minGapLimit) {
		gap := gapBefore + strconv.FormatInt(dropped, 10) + gapAfter
		return string(head) + gap + string(tail)
	}
	return string(head) + string(tail)
}

// Total returns the number of bytes written.
func (c *Capture) Total() int64 { return c.total }

// Dropped returns the number of bytes that String omits.
func (c *Capture) Dropped() int64 {
	head, tail := c.Parts()
	return c.total - int64(len(head)) - int64(len(tail))
}
