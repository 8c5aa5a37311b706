package front

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// apart is the uncounted part of each body, in bytes. The number of requests bounds its sum.
	apart = 64 << 10
	// rate is the minimum rate of a body after its time, in bytes a second.
	rate = 1 << 20
)

// The errors of Read, besides os.ErrDeadlineExceeded and the errors of the connection.
var (
	ErrTooLarge = errors.New("the body is larger than it may be")
	errNoBudget = errors.New("the bodies of all requests, or of this caller, take as much memory as they may")
)

// Memory is the part for a Budget of bytes: one caller has at most a quarter of what the others leave.
const Memory = 4

// Budget is a quantity that callers share: the number of requests, or the memory for their bodies. Its methods are
// safe for concurrent use.
//
// Memory is counted as a body arrives, not as announced. The first 64 KiB of each body are not counted, so that small
// requests are accepted while large ones exhaust the budget.
type Budget struct {
	mu   sync.Mutex
	part int64
	free int64
	held map[string]int64 // by caller
}

// NewBudget returns a Budget of total. A caller that already has a share gets more only up to 1/part of what the others
// leave.
func NewBudget(total, part int64) *Budget {
	return &Budget{part: part, free: total, held: map[string]int64{}}
}

// Take adds n to a caller's share and reports whether it did. It refuses if the caller would exceed its share or the
// budget. A negative n returns that much to the budget.
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

// Read returns the whole body of a request, of at most most bytes. It may take so much time, and 1 s more for each MiB
// that has arrived. Its memory counts for the caller until release, which must be called once, also after an error.
func (b *Budget) Read(caller string, r *http.Request, w *http.ResponseController, most int64, limit time.Duration) (
	text []byte, release func(), err error) {
	var held int64
	release = func() { b.Take(caller, -held) }
	if r.ContentLength > most {
		return nil, release, ErrTooLarge
	}
	end := most + 1 // one byte more than the maximum, for the Read that returns io.EOF
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
				return nil, release, errNoBudget
			}
			held += more
			text = append(make([]byte, 0, size), text...)
		}
		deadline := start.Add(limit + time.Duration(len(text))*time.Second/rate)
		if err := w.SetReadDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return nil, release, err
		}
		n, err := r.Body.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case int64(len(text)) > most:
			return nil, release, ErrTooLarge
		case err == io.EOF:
			return text, release, nil
		case err != nil:
			return nil, release, err
		}
	}
}
