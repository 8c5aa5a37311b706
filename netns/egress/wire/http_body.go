package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"brig/netns/egress/policy"
)

const (
	maxChunkLine  = 1 << 10  // bytes of a chunk's size and extensions, or of one trailer's line
	maxChunkWaste = 16 << 10 // bytes of extensions and trailers in a body: they are dropped
	writeBuffer   = 4 << 10
)

// CopyChunks copies a chunked body. Chunks keep their sizes and lose their extensions; trailers are dropped. All is
// written before src waits for more. io.ErrUnexpectedEOF means that the body is incomplete, and an *Error that the
// chunks are ambiguous. After any error the receiver has an incomplete body, and both connections must be closed. Other
// errors come from the reader and the writer.
func CopyChunks(dst io.Writer, src *bufio.Reader) error {
	c := &chunks{src: src, w: bufio.NewWriterSize(dst, writeBuffer)} // joins a chunk's size and its data
	for {
		size, err := c.size()
		if err != nil {
			return err
		}
		if size == 0 {
			break
		}
		fmt.Fprintf(c.w, "%x\r\n", size) // Flush returns an earlier error, too
		if err := c.data(size); err != nil {
			return err
		}
	}
	if err := c.trailers(); err != nil {
		return err
	}
	_, _ = c.w.WriteString("0\r\n\r\n")
	return c.w.Flush()
}

// chunks copies a chunked body.
type chunks struct {
	src   *bufio.Reader
	w     *bufio.Writer
	waste int
}

// wait waits until src has a byte. Before that it writes everything.
func (c *chunks) wait() error {
	if c.src.Buffered() > 0 {
		return nil
	}
	if err := c.w.Flush(); err != nil {
		return err
	}
	_, err := c.src.Peek(1)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// size reads a chunk's line: hexadecimal digits, and extensions after a ";".
func (c *chunks) size() (int64, error) {
	line, err := c.line()
	if err != nil {
		return 0, err
	}
	digits, _, _ := bytes.Cut(line, []byte(";"))
	size, err := strconv.ParseUint(string(digits), 16, 63)
	if err != nil || len(digits) > maxDigits {
		return 0, refuse(policy.ReasonProtocol, "a malformed chunk size of %d digits", len(digits))
	}
	return int64(size), c.drop(len(line) - len(digits))
}

// data copies the n bytes of a chunk and the end of its line.
func (c *chunks) data(n int64) error {
	for n > 0 {
		if err := c.wait(); err != nil {
			return err
		}
		p, err := c.src.Peek(int(min(n, int64(c.src.Buffered()))))
		if err == nil {
			_, err = c.w.Write(p)
		}
		if err == nil {
			_, err = c.src.Discard(len(p))
		}
		if err != nil {
			return err
		}
		n -= int64(len(p))
	}
	end, err := c.line()
	if err != nil {
		return err
	}
	if len(end) != 0 {
		return refuse(policy.ReasonProtocol, "a chunk longer than its size")
	}
	_, err = c.w.WriteString("\r\n")
	return err
}

// trailers reads up to the empty line that ends the body.
func (c *chunks) trailers() error {
	for {
		line, err := c.line()
		if err != nil || len(line) == 0 {
			return err
		}
		if err := c.drop(len(line)); err != nil {
			return err
		}
		if name, _, ok := bytes.Cut(line, []byte(":")); !ok || !token(string(name)) {
			return refuse(policy.ReasonProtocol, "a malformed trailer")
		}
	}
}

// drop counts bytes that are not forwarded.
func (c *chunks) drop(n int) error {
	if c.waste += n; c.waste > maxChunkWaste {
		return refuse(policy.ReasonProtocol, "more than %d bytes of chunk extensions and trailers", maxChunkWaste)
	}
	return nil
}

// line reads a line and returns it without its CR LF; it is refused at the first forbidden byte.
func (c *chunks) line() ([]byte, error) {
	line := make([]byte, 0, 16)
	last := byte(0)
	for {
		if err := c.wait(); err != nil {
			return nil, err
		}
		b, err := c.src.ReadByte()
		if err == nil {
			err = headByte(last, b)
		}
		switch {
		case err != nil:
			return nil, err
		case b == '\n':
			return line[:len(line)-1], nil
		case len(line) == maxChunkLine:
			return nil, refuse(policy.ReasonProtocol, "a line of more than %d bytes in a chunked body", maxChunkLine)
		}
		line, last = append(line, b), b
	}
}
