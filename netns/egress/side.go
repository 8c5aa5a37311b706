package egress

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// patience bounds the reads of a connection by the idle timeout of its flow, or by a time.
type patience struct {
	f     *flow
	read  interface{ SetReadDeadline(time.Time) error }
	until atomic.Int64 // the latest end of a read, in nanoseconds after the flow began; 0: when the flow is idle
}

// deadline bounds the reads from now on, including one that is already waiting. With the zero time only the idle
// timeout bounds them.
func (p *patience) deadline(t time.Time) {
	if t.IsZero() {
		p.until.Store(0)
		t = p.f.expiry()
	} else {
		p.until.Store(max(int64(t.Sub(p.f.begin)), 1))
	}
	_ = p.read.SetReadDeadline(t) // closed: the read fails
}

// wait calls read, which waits, until it succeeds. It returns errIdle if the flow is idle for too long, and
// os.ErrDeadlineExceeded after the deadline.
func (p *patience) wait(read func() error) error {
	for {
		end := p.f.expiry()
		err := p.read.SetReadDeadline(end)
		if bound := p.until.Load(); err == nil && bound != 0 {
			err = p.read.SetReadDeadline(p.f.begin.Add(time.Duration(bound)))
		}
		if err != nil {
			return err
		}
		if err = read(); !errors.Is(err, os.ErrDeadlineExceeded) || p.until.Load() != 0 {
			return err
		}
		if !p.f.expiry().After(end) { // the other direction has not moved either
			return errIdle
		}
	}
}

// side is one end of a relayed connection.
type side struct {
	patience
	c     *net.TCPConn
	count *atomic.Int64 // bytes written
}

func (f *flow) side(c *net.TCPConn, count *atomic.Int64) *side {
	return &side{patience: patience{f: f, read: c}, c: c, count: count}
}

// Read waits until the deadline.
func (s *side) Read(b []byte) (n int, err error) {
	err = s.wait(func() error {
		n, err = s.c.Read(b)
		return err
	})
	if n > 0 {
		s.f.touch()
	}
	return n, err
}

// readable reports whether there is something to read.
func (s *side) readable() bool {
	got := true
	err := sys.Control(s.c, func(fd int) error {
		got = readableFD(uintptr(fd))
		return nil
	})
	return got || err != nil
}

// Write sends all of b.
func (s *side) Write(b []byte) (int, error) {
	if err := s.f.write(s, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// source reads a side and holds no buffer while it waits.
type source struct {
	*side
	raw syscall.RawConn
	max int // of one read
	buf *[copyBuffer]byte
	n   int
	err error
}

// await calls ready each time the side becomes readable, until it returns true.
func (s *source) await(ready func(fd uintptr) bool) error {
	return s.wait(func() error { return s.raw.Read(ready) })
}

func (s *source) fill(fd uintptr) bool {
	if s.buf == nil {
		s.buf = buffers.Get().(*[copyBuffer]byte)
	}
	s.n, s.err = sys.Read(int(fd), s.buf[:s.max])
	if s.err == syscall.EAGAIN {
		s.release()
		return false
	}
	return true
}

func (s *source) release() {
	if s.buf != nil {
		buffers.Put(s.buf)
		s.buf = nil
	}
}

// readableFD reports whether there is something to read: a byte, the end or an error. poll(2) leaves an error to the
// read that follows; recvfrom(2) with MSG_PEEK would take it.
func readableFD(fd uintptr) bool {
	n, err := sys.Retry(func() (int, error) {
		return unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	})
	return n > 0 || err != nil
}
