package wire

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
)

const (
	maxChunkLine  = 1 << 10  // bytes of a chunk's size and extensions, or of one trailer's line
	maxChunkWaste = 16 << 10 // bytes of extensions and trailers in a body: they are dropped
	writeBuffer   = 4 << 10
)

// CopyBody copies a body and returns the number of bytes written, framing included. limit, if not nil, is called with
// the number of bytes before each write, at most 4096 or what src has buffered; its error ends the copy and is
// returned. Chunks keep their sizes and lose their extensions; trailers are dropped. All is written before src waits
// for more. io.ErrUnexpectedEOF means that the body is incomplete, and an *Error that the chunks are ambiguous. After
// any error the receiver has an incomplete body, and both connections must be closed. Other errors come from the reader
// and the writer.
func CopyBody(dst io.Writer, src *bufio.Reader, f Framing, limit func(n int) error) (n int64, err error) {
	m := &meter{dst: dst, limit: limit}
	switch f.Kind {
	case Length:
		err = pass(m, src, f.Length)
	case UntilClose:
		if err = pass(m, src, 1<<62); errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		}
	case Chunked:
		w := bufio.NewWriterSize(m, writeBuffer) // joins a chunk's size and its data
		c := chunks{src: src, w: w}
		if err = c.copy(); err == nil {
			err = w.Flush()
		}
	}
	return m.n, err
}

// meter calls limit before each write, and counts the bytes.
type meter struct {
	dst   io.Writer
	limit func(n int) error
	n     int64
}

func (m *meter) Write(p []byte) (int, error) {
	if m.limit != nil {
		if err := m.limit(len(p)); err != nil {
			return 0, err
		}
	}
	n, err := m.dst.Write(p)
	m.n += int64(n)
	return n, err
}

// pass copies n bytes from the reader's buffer.
func pass(w io.Writer, src *bufio.Reader, n int64) error {
	for n > 0 {
		if src.Buffered() == 0 {
			if b, ok := w.(*bufio.Writer); ok {
				if err := b.Flush(); err != nil {
					return err
				}
			}
			if _, err := src.Peek(1); err != nil {
				return broken(err)
			}
		}
		p, err := src.Peek(int(min(n, int64(src.Buffered()))))
		if err != nil {
			return err
		}
		if _, err := w.Write(p); err != nil {
			return err
		}
		if _, err := src.Discard(len(p)); err != nil {
			return err
		}
		n -= int64(len(p))
	}
	return nil
}

func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// chunks copies a chunked body.
type chunks struct {
	src   *bufio.Reader
	w     *bufio.Writer
	waste int
}

func (c *chunks) copy() error {
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		size, err := c.size(line)
		if err != nil {
			return err
		}
		if size == 0 {
			break
		}
		if _, err := c.w.WriteString(strconv.FormatInt(size, 16) + "\r\n"); err != nil {
			return err
		}
		if err := pass(c.w, c.src, size); err != nil {
			return err
		}
		if end, err := c.line(); err != nil || len(end) != 0 {
			return either(err, refuse(Protocol, "a chunk longer than its size"))
		}
		if _, err := c.w.WriteString("\r\n"); err != nil {
			return err
		}
	}
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		if len(line) == 0 {
			_, err := c.w.WriteString("0\r\n\r\n")
			return err
		}
		if err := c.drop(len(line)); err != nil {
			return err
		}
		colon := 0
		for colon < len(line) && tokenByte(line[colon]) {
			colon++
		}
		if colon == 0 || colon == len(line) || line[colon] != ':' {
			return refuse(Protocol, "a malformed trailer")
		}
	}
}

func either(err error, other *Error) error {
	if err != nil {
		return err
	}
	return other
}

// size reads a chunk's line: hexadecimal digits, and extensions after a ";".
func (c *chunks) size(line []byte) (int64, error) {
	digits := 0
	for digits < len(line) && line[digits] != ';' {
		digits++
	}
	if digits == 0 || digits > maxDigits {
		return 0, refuse(Protocol, "a chunk size of %d digits", digits)
	}
	size := int64(0)
	for _, d := range line[:digits] {
		v := hexDigit(d)
		if v < 0 {
			return 0, refuse(Protocol, "a malformed chunk size")
		}
		size = size<<4 | int64(v)
	}
	return size, c.drop(len(line) - digits)
}

// drop counts bytes that are not forwarded.
func (c *chunks) drop(n int) error {
	if c.waste += n; c.waste > maxChunkWaste {
		return refuse(Protocol, "more than %d bytes of chunk extensions and trailers", maxChunkWaste)
	}
	return nil
}

// line reads a line and returns it without its CR LF; it is refused at the first forbidden byte.
func (c *chunks) line() ([]byte, error) {
	line := make([]byte, 0, 16)
	last := byte(0)
	for {
		if c.src.Buffered() == 0 {
			if err := c.w.Flush(); err != nil {
				return nil, err
			}
		}
		b, err := c.src.ReadByte()
		if err != nil {
			return nil, broken(err)
		}
		if err := headByte(last, b); err != nil {
			return nil, err
		}
		if b == '\n' {
			return line[:len(line)-1], nil
		}
		if len(line) == maxChunkLine {
			return nil, refuse(Protocol, "a line of more than %d bytes in a chunked body", maxChunkLine)
		}
		line, last = append(line, b), b
	}
}

// hexDigit returns the value of a hexadecimal digit, or -1.
func hexDigit(c byte) int { return strings.IndexByte("0123456789abcdef", lower(c)) }
