package run

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// capture copies a stream to a writer: either everything, or the head at once and the tail at the end.
type capture struct {
	src   *os.File
	dst   io.Writer
	own   *os.File        // the destination, if capture has to close it: its reader may wait for that; else nil
	limit int64           // the number of bytes to keep; 0: all
	count func(n int) int // called with the size of each piece; returns how much of it may pass; nil: all

	total, written int64
	tail           []byte // a ring buffer of the last limit/2 bytes
	next           int    // the index of the oldest byte in a full ring
	err            error
}

// firstRead is PIPE_BUF of pipe(7), so that no smaller write is cut. A pipe holds fullRead.
const (
	firstRead = 4 << 10
	fullRead  = 64 << 10
)

// copy reads to the end of the stream even if the writer fails, because the payload would block otherwise. Most streams
// are short, so the buffer is small until a read fills it.
func (c *capture) copy() {
	buf := make([]byte, firstRead)
	n, err := 0, error(nil)
	for err == nil {
		n, err = c.src.Read(buf)
		if c.pass(buf[:n]); n == len(buf) && n < fullRead {
			buf = make([]byte, fullRead)
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = c.drain(buf)
	}
	if err != io.EOF && !errors.Is(err, syscall.EIO) { // EIO: the last descriptor of the terminal's slave side is closed
		c.err = errors.Join(c.err, err)
	}
	c.flush()
	if c.own != nil {
		c.err = errors.Join(c.err, c.own.Close())
	}
}

func (c *capture) pass(b []byte) {
	n := len(b)
	if c.count != nil {
		n = c.count(n)
	}
	c.take(b[:n])
	c.total += int64(len(b) - n)
}

// over makes copy end. The jail has no processes any more, and all their output can be read. Another process can have
// the far end only if the payload sent it there (unix(7) SCM_RIGHTS), and could keep it open indefinitely. An error
// means that copy has ended.
func (c *capture) over() { _ = c.src.SetReadDeadline(time.Unix(1, 0)) }

// readOn goes on reading, and discards what it reads, while processes that a command of a box has left behind may
// write. Without a reader a server that logs would end by SIGPIPE.
func (c *capture) readOn() {
	if !sys.Idle(c.src, 0) { // nobody can write, or the copy has lost its reader
		return
	}
	fd := -1
	err := sys.Control(c.src, func(own int) (err error) {
		fd, err = unix.FcntlInt(uintptr(own), unix.F_DUPFD_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return
	}
	go func() {
		f := os.NewFile(uintptr(fd), "pipe")
		defer f.Close()
		_, _ = io.Copy(io.Discard, f)
	}()
}

// mostLeft is the maximum to read from a terminal at the end: its buffers hold 64 KiB.
const mostLeft = 128 << 10

// drain reads the remaining content of the stream. It does not hold the descriptor while it passes a piece on: if
// the copy has lost its reader, write closes the stream, and Close waits until no call holds the descriptor.
func (c *capture) drain(buf []byte) error {
	left := mostLeft
	err := sys.Control(c.src, func(fd int) (err error) {
		if _, notPipe := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0); notPipe == nil {
			left, err = unix.IoctlGetInt(fd, unix.TIOCINQ)
		}
		return err
	})
	for left > 0 && err == nil {
		n := 0 // also where the stream is closed, and nothing is called
		err = sys.Control(c.src, func(fd int) (err error) {
			n, err = unix.Read(fd, buf[:min(left, len(buf))])
			return err
		})
		if n <= 0 {
			break
		}
		c.pass(buf[:n])
		left -= n
	}
	if err == unix.EAGAIN {
		return nil
	}
	return err
}

// flush writes the tail, beginning with its oldest byte.
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

// keep stores bytes in the ring and overwrites the oldest ones.
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
	if errors.Is(err, syscall.ECONNRESET) { // a socket's equivalent of EPIPE
		err = syscall.EPIPE
	}
	if c.err = err; errors.Is(err, syscall.EPIPE) { // without a reader the payload must get SIGPIPE, as without a keeper
		_ = c.src.Close()
	}
}

// dropped returns the number of bytes lost to the limit.
func (c *capture) dropped() int64 { return max(0, c.total-c.written) }
