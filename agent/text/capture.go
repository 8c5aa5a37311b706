package text

import (
	"strconv"
	"unicode/utf8"
)

// Capture is a writer that keeps the head and the tail of what it is given, at most a limit of bytes together, and
// counts the rest. It is for one goroutine at a time.
type Capture struct {
	limit int64
	head  []byte
	tail  []byte // a ring, once it is full
	next  int    // the oldest byte of a full ring
	total int64
}

// NewCapture makes a Capture of a limit in bytes; one of 0 or less keeps nothing.
func NewCapture(limit int64) *Capture {
	return &Capture{limit: max(0, limit)}
}

// CaptureOf returns a Capture that holds what somebody else has kept of total bytes: their head and tail, divided as
// those of a Capture of that limit.
func CaptureOf(limit int64, kept []byte, total int64) *Capture {
	c := NewCapture(limit)
	n := len(kept)
	if int64(n) < c.limit { // what is missing came after them
		c.limit = max(c.limit, total)
	} else {
		n = c.headSize()
	}
	c.head, c.tail, c.total = kept[:n:n], kept[n:], total
	return c
}

// Write takes everything and never fails.
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

// add appends without ever taking more memory than most bytes.
func add(to, b []byte, most int) []byte {
	if need := len(to) + len(b); need > cap(to) {
		grown := make([]byte, len(to), min(most, max(need, 2*cap(to), 512)))
		copy(grown, to)
		to = grown
	}
	return append(to, b...)
}

// The sentence that String puts into a gap, and how many bytes of the limit it gets: there are at most 19 digits. A
// limit that has no room for it goes without.
const (
	gapBefore   = "\n[... "
	gapAfter    = " bytes left out ...]\n"
	gapSize     = len(gapBefore) + 19 + len(gapAfter)
	minGapLimit = 4 * gapSize
)

// Parts returns what is kept: all of it as head, if nothing is missing, else head and tail, both without a rune that is
// cut in two. len(head) + len(tail) + Dropped() is Total().
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
	return trimEnd(head), trimStart(last)
}

// trimEnd leaves out the beginning of a rune.
func trimEnd(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if end := b[len(b)-n:]; utf8.RuneStart(end[0]) {
			if !utf8.FullRune(end) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

// trimStart leaves out the end of a rune.
func trimStart(b []byte) []byte {
	for n := 0; n < utf8.UTFMax && n < len(b); n++ {
		if utf8.RuneStart(b[n]) {
			return b[n:]
		}
	}
	if len(b) < utf8.UTFMax {
		return nil
	}
	return b // it is no UTF-8
}

// String is what is kept, at most the limit, with a line in the gap that has the number of missing bytes, if the limit
// has room for that (184 bytes). A payload can print such a line, too; Dropped is the truth.
func (c *Capture) String() string {
	head, tail := c.Parts()
	dropped := c.total - int64(len(head)) - int64(len(tail))
	if dropped > 0 && c.limit >= int64(minGapLimit) {
		gap := gapBefore + strconv.FormatInt(dropped, 10) + gapAfter
		return string(head) + gap + string(tail)
	}
	return string(head) + string(tail)
}

// Total is how many bytes were written.
func (c *Capture) Total() int64 { return c.total }

// Dropped is how many of them String does not have.
func (c *Capture) Dropped() int64 {
	head, tail := c.Parts()
	return c.total - int64(len(head)) - int64(len(tail))
}
