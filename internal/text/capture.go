package text

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// Capture is an io.Writer that keeps the head and the tail of its input, limited in total size, and counts the bytes in
// between. It is not safe for concurrent use.
type Capture struct {
	limit int64
	kept  []byte // the head, and behind it the tail: a ring buffer when limit is reached
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
	if int64(len(kept)) < c.limit { // the missing bytes came after these
		c.limit = max(c.limit, total)
	}
	c.kept, c.total = kept, total
	return c
}

// Write implements io.Writer. It never fails.
func (c *Capture) Write(b []byte) (int, error) {
	n := len(b)
	c.total += int64(n)
	if room := min(int(c.limit)-len(c.kept), n); room > 0 {
		if need := len(c.kept) + room; need > cap(c.kept) { // the capacity never exceeds the limit
			grown := make([]byte, len(c.kept), min(int(c.limit), max(need, 2*cap(c.kept), 512)))
			copy(grown, c.kept)
			c.kept = grown
		}
		c.kept = append(c.kept, b[:room]...)
		b = b[room:]
	}
	ring := c.ring()
	for b = b[max(0, len(b)-len(ring)):]; len(b) > 0; {
		k := copy(ring[c.next:], b)
		c.next = (c.next + k) % len(ring)
		b = b[k:]
	}
	return n, nil
}

func (c *Capture) headSize() int { return int(c.limit - c.limit/2) }

func (c *Capture) ring() []byte { return c.kept[min(len(c.kept), c.headSize()):] }

// The line that String inserts for the missing bytes, and the part of the limit that is reserved for it: the number has
// at most 19 digits. If the limit is too small, there is no such line.
const (
	gapBefore   = "\n[... "
	gapAfter    = " bytes left out ...]\n"
	gapSize     = len(gapBefore) + 19 + len(gapAfter)
	minGapLimit = 4 * gapSize
)

// Parts returns what was kept: everything as head if nothing is missing, and otherwise head and tail, both without
// incomplete runes.
func (c *Capture) Parts() (head, tail []byte) {
	if c.total <= c.limit {
		return c.kept, nil
	}
	head, tail = c.kept[:c.headSize()], slices.Concat(c.ring()[c.next:], c.ring()[:c.next])
	if c.limit >= int64(minGapLimit) {
		head = head[:len(head)-gapSize/2]
		tail = tail[gapSize-gapSize/2:]
	}
	return head[:len(head)-Incomplete(head)], trimStart(tail)
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
	if dropped := c.Dropped(); dropped > 0 && c.limit >= int64(minGapLimit) {
		head = append(slices.Clip(head), gapBefore+strconv.FormatInt(dropped, 10)+gapAfter...)
	}
	return string(head) + string(tail)
}

// Dropped returns the number of bytes that String omits.
func (c *Capture) Dropped() int64 {
	head, tail := c.Parts()
	return c.total - int64(len(head)) - int64(len(tail))
}
