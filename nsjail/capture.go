package nsjail

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// capture copies a stream to a writer: all of it, or its head at once and its tail at the end.
type capture struct {
	src   *os.File
	dst   io.Writer
	limit int64           // 0: everything
	said  func(n int) int // told of n bytes, it says how many may pass; nil: all

	total, written int64
	tail           []byte // a ring of the last limit/2 bytes
	next           int    // where the oldest byte of a full ring stands
	err            error
}

func newCapture(src *os.File, dst io.Writer, limit int64) *capture {
	return &capture{src: src, dst: dst, limit: limit}
}

// copy reads to the end of the stream even when the writer fails: a payload that is not read from would hang.
func (c *capture) copy() {
	buf := make([]byte, 64<<10)
	for {
		n, err := c.src.Read(buf)
		pass := n
		if c.said != nil {
			pass = c.said(n)
		}
		c.take(buf[:pass])
		c.total += int64(n - pass)
		if err != nil {
			if err != io.EOF && !errors.Is(err, syscall.EIO) { // EIO: the last slave side of a terminal is closed
				c.err = errors.Join(c.err, err)
			}
			break
		}
	}
	c.flush()
}

// flush writes the tail, from its oldest byte.
func (c *capture) flush() {
	c.write(c.tail[c.next:])
	c.write(c.tail[:c.next])
}

func (c *capture) take(b []byte) {
	c.total += int64(len(b))
	if c.limit == 0 {
		c.write(b)
		return
	}
	if head := c.limit - c.limit/2 - c.written; head > 0 {
		n := min(int64(len(b)), head)
		c.write(b[:n])
		b = b[n:]
	}
	c.keep(b)
}

// keep puts bytes into the ring, over the oldest ones once it is full.
func (c *capture) keep(b []byte) {
	size := int(c.limit / 2)
	if len(b) > size {
		b = b[len(b)-size:]
	}
	if room := min(size-len(c.tail), len(b)); room > 0 {
		c.tail = append(c.tail, b[:room]...)
		b = b[room:]
	}
	for len(b) > 0 {
		n := copy(c.tail[c.next:], b)
		c.next = (c.next + n) % size
		b = b[n:]
	}
}

func (c *capture) write(b []byte) {
	if len(b) == 0 || c.err != nil {
		return
	}
	n, err := c.dst.Write(b)
	c.written += int64(n)
	if c.err = err; errors.Is(err, syscall.EPIPE) { // nobody reads: the payload is to meet that as it would without us
		_ = c.src.Close()
	}
}

// dropped is how many bytes the limit has cost.
func (c *capture) dropped() int64 { return max(0, c.total-c.written) }
