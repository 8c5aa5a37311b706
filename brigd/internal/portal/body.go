package portal

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"brig/brigd/internal/front"
)

// body is a client's, each piece of which has to come in some time. It is read until it is given back: a transport may
// go on to read after the answer.
type body struct {
	io.ReadCloser
	visit  *front.Visit
	limit  time.Duration
	mu     sync.Mutex  // held while somebody reads
	over   atomic.Bool // it is given back
	ended  atomic.Bool // all of it has been read
	failed atomic.Pointer[error]
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.visit.ReadTime(b.limit)
	if b.over.Load() {
		return 0, os.ErrClosed
	}
	n, err := b.ReadCloser.Read(p)
	b.visit.ReadTime(0)
	switch err {
	case nil:
	case io.EOF:
		b.ended.Store(true)
	default:
		b.failed.Store(&err)
	}
	return n, err
}

// Close implements io.Closer. net/http closes the body itself.
func (*body) Close() error { return nil }

// back ends that the body is read. What remains of it has a second to come, as net/http wants it.
func (b *body) back() {
	if b.ended.Load() {
		return // net/http waits for the client to go away, and is not to be disturbed
	}
	b.over.Store(true)
	b.visit.ReadTime(-1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended.Load() {
		b.visit.ReadTime(min(time.Second, b.limit))
	}
}
