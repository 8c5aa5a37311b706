// Package body shares among callers what requests take: their number, and the memory that their bodies are read into.
//
// A client holds what it has sent, and not what it has announced. The first 64 KiB of each body are outside of the budget,
// so that small requests are taken while large ones fill it, and one caller has at most a quarter of what the others leave.
package body

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// apart is how much of each body is outside of the budget, in bytes; connections and requests are bounded elsewhere.
	apart = 64 << 10
	// rate is how fast a body has to arrive after its first time, in bytes a second.
	rate = 1 << 20
)

// Why a body was not read, besides os.ErrDeadlineExceeded and what the connection says.
var (
	ErrTooLarge = errors.New("the body is larger than it may be")
	ErrNoBudget = errors.New("the bodies of all requests, or of this caller, take as much memory as they may")
)

// Memory is the part of a Budget of bytes that one caller may have: a quarter of what the others leave.
const Memory = 4

// Budget is what callers share. Its methods may be called concurrently.
type Budget struct {
	mu   sync.Mutex
	part int64
	free int64
	held map[string]int64 // by caller
}

// NewBudget has a total, of which a caller who has something gets more up to a half (a third, ...) of what the others leave.
func NewBudget(total, part int64) *Budget {
	return &Budget{part: part, free: total, held: map[string]int64{}}
}

// Take counts n as a caller's, unless it has its share or there is no more. What is below zero is given back.
func (b *Budget) Take(caller string, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	has := b.held[caller]
	if n > 0 && (n > b.free || has > 0 && has+n > (b.free+has)/b.part) {
		return false
	}
	b.free -= n
	if b.held[caller] = has + n; has+n == 0 {
		delete(b.held, caller)
	}
	return true
}

// Limits bound one body.
type Limits struct {
	Most int64         // bytes
	Time time.Duration // in which it arrives, with a second more for each MiB that has
}

// Read takes the whole body of a request. The memory is the caller's until release, which is to be called once, in any case.
func (b *Budget) Read(caller string, r *http.Request, w *http.ResponseController, l Limits) (text []byte, release func(), err error) {
	var held int64
	release = func() { b.Take(caller, -held) }
	if r.ContentLength > l.Most {
		return nil, release, ErrTooLarge
	}
	end := l.Most + 1 // one more than there may be: its last Read finds the end
	if r.ContentLength >= 0 {
		end = r.ContentLength + 1
	}
	start := time.Now()
	text = make([]byte, 0, min(end, 4<<10))
	for {
		if len(text) == cap(text) {
			size := min(2*int64(cap(text)), end)
			more := max(0, size-apart) - held
			if !b.Take(caller, more) {
				return nil, release, ErrNoBudget
			}
			held += more
			text = append(make([]byte, 0, size), text...)
		}
		deadline := start.Add(l.Time + time.Duration(len(text))*time.Second/rate)
		if err := w.SetReadDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return nil, release, err
		}
		n, err := r.Body.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case int64(len(text)) > l.Most:
			return nil, release, ErrTooLarge
		case err == io.EOF:
			return text, release, nil
		case err != nil:
			return nil, release, err
		}
	}
}

// Free is how much is left.
func (b *Budget) Free() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.free
}
