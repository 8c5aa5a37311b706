package egress

import (
	"errors"
	"net"
	"os"
	"syscall"

	"brig/internal/sys"
)

// source reads a connection and holds no buffer while it waits.
type source struct {
	f    *flow
	conn *net.TCPConn
	raw  syscall.RawConn
	max  int // of one read
	buf  *[copyBuffer]byte
	n    int
	err  error
}

func (f *flow) source(c *net.TCPConn) (*source, error) {
	raw, err := c.SyscallConn()
	s := &source{f: f, conn: c, raw: raw, max: copyBuffer}
	if f.lim.bandwidth != nil {
		s.max = f.lim.bandwidth.chunk()
	}
	return s, err
}

// await calls ready each time the connection becomes readable, until it returns true or the flow is idle for too long.
func (s *source) await(ready func(fd uintptr) bool) error {
	for {
		until := s.f.expiry()
		if err := s.conn.SetReadDeadline(until); err != nil {
			return err
		}
		if s.f.stop.Load() { // it is set before the deadline is moved
			return errStopped
		}
		err := s.raw.Read(ready)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if !s.f.expiry().After(until) { // the other direction has not moved either
			return errIdle
		}
	}
}

func (s *source) read(fd uintptr) bool {
	if s.buf == nil {
		s.buf = buffers.Get().(*[copyBuffer]byte)
	}
	s.n, s.err = sys.Retry(func() (int, error) { return syscall.Read(int(fd), s.buf[:s.max]) })
	if s.err == syscall.EAGAIN {
		s.release()
		return false
	}
	return true
}

// peek reports whether there is something to read: a byte, the end or an error.
func (s *source) peek(fd uintptr) bool {
	var b [1]byte
	_, err := sys.Retry(func() (int, error) {
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return n, err
	})
	return err != syscall.EAGAIN
}

func (s *source) release() {
	if s.buf != nil {
		buffers.Put(s.buf)
		s.buf = nil
	}
}
