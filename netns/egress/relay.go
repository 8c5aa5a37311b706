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
	copyBuffer  = 16 << 10               // of the small copies; held only while there is something in it
	spliceAfter = 128 << 10              // a transfer that has moved so much goes on by splice(2)
	spliceSlice = 250 * time.Millisecond // then the counters are brought up to date
	spliceQuota = 256 << 10              // taken in advance where bytes are bounded
	noLimit     = 1 << 62
)

var buffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// Errors that end a relay from our side.
var (
	errIdle     = errors.New("idle for too long")
	errMaxBytes = errors.New("no bytes are left")
	errStopped  = errors.New("no longer wanted")
)

// flow is what both directions of one connection share.
type flow struct {
	ctx            context.Context // of the server: done when it closes
	lim            *limits
	own            *quota // max_connection_bytes
	idle           time.Duration
	sent, received atomic.Int64
	begin          time.Time
	last           atomic.Int64 // when a byte moved last, nanoseconds after begin; in the future while bandwidth holds it back
	stop           atomic.Bool  // no more is to be read
	said           func()       // called when all that the payload has said is passed on; nil: nobody asks
}

func newFlow(ctx context.Context, lim *limits, idle time.Duration) *flow {
	f := &flow{ctx: ctx, lim: lim, idle: idle, begin: time.Now()}
	if lim.perConn > 0 {
		f.own = newQuota(lim.perConn)
	}
	return f
}

func (f *flow) touch() { f.last.Store(int64(time.Since(f.begin))) }

// expiry is when the flow has been idle for too long.
func (f *flow) expiry() time.Time { return f.begin.Add(time.Duration(f.last.Load()) + f.idle) }

// take asks both quotas for n bytes.
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

func (f *flow) hold(n int64) {
	f.own.hold(n)
	f.lim.bytes.hold(n)
}

// takeAll is take that waits for what a splice may give back.
func (f *flow) takeAll(n int64) int64 {
	k := f.take(n)
	for k < n && f.ctx.Err() == nil && (f.own.lent() || f.lim.bytes.lent()) {
		time.Sleep(spliceSlice / 50)
		k += f.take(n - k)
	}
	return k
}

// pace waits as long as the bandwidth asks for n bytes.
func (f *flow) pace(n int) error {
	f.touch()
	if f.lim.bandwidth == nil {
		return nil
	}
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

// write sends what was read, as far as the quotas allow, and counts it.
func (f *flow) write(dst *net.TCPConn, b []byte, count *atomic.Int64) error {
	k := f.takeAll(int64(len(b)))
	if k == 0 && len(b) > 0 {
		return errMaxBytes
	}
	if err := dst.SetWriteDeadline(time.Now().Add(f.idle)); err != nil {
		return err
	}
	n, err := dst.Write(b[:k])
	count.Add(int64(n))
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

// copy moves up to limit bytes; n < limit without an error is the end of src.
func (f *flow) copy(dst, src *net.TCPConn, limit int64, count *atomic.Int64) (n int64, err error) {
	s, err := f.source(src)
	if err != nil {
		return 0, err
	}
	read, peek := s.read, s.peek
	for n < limit {
		if n >= spliceAfter && f.lim.bandwidth == nil {
			if err = s.await(peek); err != nil {
				return n, err
			}
			k, done, handled, err := f.splice(dst, src, limit-n, count)
			if n += k; err != nil || done {
				return n, err
			}
			if handled {
				continue
			}
		}
		s.max = int(min(int64(s.max), limit-n))
		if err = s.await(read); err == nil && s.err != nil {
			err = s.err
		}
		if err == nil && s.n > 0 {
			err = f.write(dst, s.buf[:s.n], count)
		}
		k := max(s.n, 0) // -1 with an error
		s.n = 0
		s.release()
		if n += int64(k); err != nil || k == 0 {
			return n, err
		}
	}
	return n, nil
}

// splice moves bytes in the kernel for a slice of time. done: src has ended; not handled: too few bytes are left.
func (f *flow) splice(dst, src *net.TCPConn, limit int64, count *atomic.Int64) (n int64, done, handled bool, err error) {
	if f.own != nil || f.lim.bytes != nil {
		want := min(limit, spliceQuota)
		got := f.take(want)
		f.hold(got)
		defer func() {
			f.give(got - n)
			f.hold(-got)
		}()
		if got < min(want, copyBuffer) {
			return 0, false, false, nil // the copy counts to the byte
		}
		limit = got
	}
	now := time.Now()
	giveUp := now.Add(spliceSlice + f.idle)
	if err := errors.Join(src.SetReadDeadline(now.Add(spliceSlice)), dst.SetWriteDeadline(giveUp)); err != nil {
		return 0, false, true, err
	}
	n, err = dst.ReadFrom(&io.LimitedReader{R: src, N: limit})
	count.Add(n)
	if n > 0 {
		f.touch()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		if time.Now().Before(giveUp) {
			return n, false, true, nil
		}
		err = errIdle // the receiver takes nothing, and what is in the pipe is lost
	}
	return n, err == nil && n < limit, true, err
}

// pipe relays both directions until both have ended, or one has failed. An end is passed on as one: half a close.
func (f *flow) pipe(jail, out *net.TCPConn) error {
	back := make(chan error, 1)
	go func() { back <- f.direction(jail, out, &f.received) }()
	up := f.direction(out, jail, &f.sent)
	if f.said != nil {
		f.said()
	}
	down := <-back
	if errors.Is(up, net.ErrClosed) || up == nil { // the first failure closes both; the other direction only notices
		return down
	}
	return up
}

func (f *flow) direction(dst, src *net.TCPConn, count *atomic.Int64) error {
	_, err := f.copy(dst, src, noLimit, count)
	if err == nil {
		err = dst.CloseWrite()
		if errors.Is(err, syscall.ENOTCONN) { // it has gone already, in peace
			err = nil
		}
	}
	if err != nil {
		reset(src)
		reset(dst)
	}
	return err
}

// reset closes a connection so that its peer gets an RST.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // of a closed one: nothing to do
	_ = c.Close()
}
