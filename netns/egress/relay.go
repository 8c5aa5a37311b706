package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	copyBuffer  = 16 << 10               // for copies in user space; held only while it contains data
	spliceAfter = 128 << 10              // longer transfers without limits continue with splice(2)
	spliceSlice = 250 * time.Millisecond // how often the counters are updated
	noLimit     = 1 << 62
)

var buffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// Errors with which we end a relay.
var (
	errIdle     = errors.New("idle for too long")
	errMaxBytes = errors.New("no bytes are left")
)

// flow is the state that both directions of one connection share.
type flow struct {
	ctx            context.Context // of the server: done when it closes
	lim            *limits
	own            *quota // max_connection_bytes
	idle           time.Duration
	sent, received atomic.Int64
	begin          time.Time
	last           atomic.Int64 // last transfer, ns after begin; in the future while bandwidth delays it
	allSent        func()       // called when all bytes of the payload are forwarded; may be nil
}

func newFlow(ctx context.Context, lim *limits, idle time.Duration) *flow {
	return &flow{ctx: ctx, lim: lim, own: newQuota(lim.perConn), idle: idle, begin: time.Now()}
}

func (f *flow) touch() { f.last.Store(int64(time.Since(f.begin))) }

// expiry returns the time at which the flow has been idle for too long.
func (f *flow) expiry() time.Time { return f.begin.Add(time.Duration(f.last.Load()) + f.idle) }

// take takes up to n bytes of both quotas and returns how many.
func (f *flow) take(n int64) int64 {
	k := f.own.take(n)
	all := f.lim.bytes.take(k)
	f.own.give(k - all)
	return all
}

func (f *flow) give(n int64) {
	f.own.give(n)
	f.lim.bytes.give(n)
}

// pace waits for the time that n bytes take at the bandwidth.
func (f *flow) pace(n int) error {
	f.touch()
	now := time.Now()
	d := f.lim.bandwidth.owe(float64(n), now)
	if d <= 0 {
		return nil
	}
	f.last.Store(int64(now.Add(d).Sub(f.begin)))
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-f.ctx.Done():
		return f.ctx.Err()
	}
}

// write sends as much of b as the quotas allow, and counts the bytes.
func (f *flow) write(dst *side, b []byte) error {
	k := f.take(int64(len(b)))
	if k == 0 && len(b) > 0 {
		return errMaxBytes
	}
	if err := dst.c.SetWriteDeadline(time.Now().Add(f.idle)); err != nil {
		return err
	}
	n, err := dst.c.Write(b[:k])
	dst.count.Add(int64(n))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errIdle
	case err != nil:
		return err
	case k < int64(len(b)):
		return errMaxBytes
	}
	return f.pace(n)
}

// copy copies up to limit bytes. n < limit without an error means the end of src.
func (f *flow) copy(dst, src *side, limit int64) (n int64, err error) {
	raw, err := src.c.SyscallConn()
	if err != nil {
		return 0, err
	}
	s := &source{side: src, raw: raw, max: f.lim.bandwidth.chunk()}
	fill, unlimited := s.fill, f.own == nil && f.lim.bytes == nil && f.lim.bandwidth == nil
	for n < limit {
		if n >= spliceAfter && unlimited {
			k, done, err := f.splice(dst, s, limit-n)
			if n += k; err != nil || done {
				return n, err
			}
			continue
		}
		s.max = int(min(int64(s.max), limit-n))
		if err = s.await(fill); err == nil && s.err != nil {
			err = s.err
		}
		if err == nil && s.n > 0 {
			err = f.write(dst, s.buf[:s.n])
		}
		k := max(s.n, 0) // read(2) returns -1 with an error
		s.n = 0
		s.release()
		if n += int64(k); err != nil || k == 0 {
			return n, err
		}
	}
	return n, nil
}

// splice waits for src and copies in the kernel for at most spliceSlice. done means that src has ended.
func (f *flow) splice(dst *side, src *source, limit int64) (n int64, done bool, err error) {
	if err := src.await(readableFD); err != nil {
		return 0, false, err
	}
	now := time.Now()
	giveUp := now.Add(spliceSlice + f.idle)
	if err := errors.Join(src.c.SetReadDeadline(now.Add(spliceSlice)), dst.c.SetWriteDeadline(giveUp)); err != nil {
		return 0, false, err
	}
	n, err = dst.c.ReadFrom(&io.LimitedReader{R: src.c, N: limit})
	dst.count.Add(n)
	if n > 0 {
		f.touch()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		if time.Now().Before(giveUp) {
			return n, false, nil
		}
		err = errIdle // the receiver reads nothing, and the bytes in the pipe are lost
	}
	return n, err == nil && n < limit, err
}

// pipe relays both directions until both have ended or one has failed. It forwards the end of one direction as a
// half-close, shutdown(2).
func (f *flow) pipe(jail, out *side) error {
	back := make(chan error, 1)
	go func() { back <- f.direction(jail, out) }()
	up := f.direction(out, jail)
	if f.allSent != nil {
		f.allSent()
	}
	down := <-back
	if errors.Is(up, net.ErrClosed) || up == nil { // down has failed first, and closed both
		return down
	}
	return up
}

func (f *flow) direction(dst, src *side) error {
	_, err := f.copy(dst, src, noLimit)
	if err == nil {
		err = dst.c.CloseWrite()
		if errors.Is(err, syscall.ENOTCONN) { // the peer has closed already
			err = nil
		}
	}
	if err != nil {
		reset(src.c)
		reset(dst.c)
	}
	return err
}

// reset closes a connection so that its peer gets an RST.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // closed: nothing to do
	_ = c.Close()
}
