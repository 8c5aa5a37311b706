package front

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Free returns the remaining budget.
func (b *Budget) Free() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.free
}

// A caller holds a quarter of what the others leave, and the others what is theirs.
func TestShares(t *testing.T) {
	b := NewBudget(1600, Memory)
	for _, c := range []struct {
		caller string
		n      int64
		ok     bool
		free   int64
	}{
		{"bob", 100, true, 1500},
		{"bob", 301, false, 1500},
		{"bob", 300, true, 1200},
		{"bob", 1, false, 1200},
		{"eve", 300, true, 900},
		{"ann", 225, true, 675},
		{"bob", -100, true, 775},
		{"bob", 1, false, 775}, // he has 300, more than a quarter of what the others leave
		{"bob", -300, true, 1075},
		{"eve", -300, true, 1375},
		{"ann", -225, true, 1600},
		{"bob", 400, true, 1200},
	} {
		if ok := b.Take(c.caller, c.n); ok != c.ok || b.Free() != c.free {
			t.Errorf("%s takes %d: %v, %d are free; want %v and %d", c.caller, c.n, ok, b.Free(), c.ok, c.free)
		}
	}
	if len(b.held) != 1 {
		t.Errorf("callers who hold nothing are remembered: %v", b.held)
	}
}

// sent is a request whose body comes as the test writes it; its connection has a deadline.
type sent struct {
	*http.Request
	*io.PipeWriter
	w        *http.ResponseController
	deadline atomic.Int64 // nanoseconds of the epoch
}

func request(length int64) *sent {
	r, w := io.Pipe()
	s := &sent{Request: httptest.NewRequest("POST", "/", r), PipeWriter: w}
	s.ContentLength = length
	s.w = http.NewResponseController(s)
	return s
}

func (s *sent) Header() http.Header { return nil }
func (s *sent) WriteHeader(int)     {}
func (s *sent) Write([]byte) (int, error) {
	return 0, io.ErrClosedPipe
}

func (s *sent) SetReadDeadline(d time.Time) error {
	s.deadline.Store(d.UnixNano())
	time.AfterFunc(time.Until(d), func() {
		if s.deadline.Load() <= time.Now().UnixNano() {
			_ = s.CloseWithError(os.ErrDeadlineExceeded)
		}
	})
	return nil
}

// What is announced and not sent takes nothing; what has been sent is counted, and given back.
func TestWhatHasArrivedCounts(t *testing.T) {
	b := NewBudget(128<<20, Memory)
	total := b.Free()
	begun := make(chan func(), 8)
	for range 8 {
		s := request(32 << 20)
		go func() {
			_, release, err := b.Read("bob", s.Request, s.w, 32<<20, time.Minute)
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Error(err)
			}
			begun <- release
		}()
		if _, err := s.PipeWriter.Write([]byte("{")); err != nil {
			t.Error(err)
		}
		defer func() { (<-begun)() }()
		defer s.CloseWithError(io.ErrUnexpectedEOF)
	}
	if free := b.Free(); free != total {
		t.Errorf("8 announced bodies hold %d bytes", total-free)
	}
	s := request(-1)
	go func() {
		_, _ = io.Copy(s.PipeWriter, strings.NewReader(strings.Repeat("x", 20<<20)))
		_ = s.PipeWriter.Close()
	}()
	text, release, err := b.Read("bob", s.Request, s.w, 32<<20, time.Minute)
	if err != nil || len(text) != 20<<20 || total-b.Free() < 20<<20-apart {
		t.Errorf("%v, %d bytes, of which %d are counted", err, len(text), total-b.Free())
	}
	if release(); b.Free() != total {
		t.Errorf("%d bytes are never given back", total-b.Free())
	}
}

// The time limit of a body grows with the bytes that have arrived. So a slow connection can send a large body, and a
// client that sends almost nothing is cut off.
func TestRate(t *testing.T) {
	for _, c := range []struct {
		every, most time.Duration // a piece of half a MiB comes
		sent        bool
	}{
		{400 * time.Millisecond, 30 * time.Second, true},
		{time.Second, time.Minute, false},
		{31 * time.Second, 30 * time.Second, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := request(32 << 20)
			start := time.Now()
			go func() {
				for range 64 {
					time.Sleep(c.every)
					_, _ = s.PipeWriter.Write(make([]byte, 512<<10))
				}
				_ = s.PipeWriter.Close()
			}()
			_, _, err := NewBudget(128<<20, Memory).Read("bob", s.Request, s.w, 32<<20, 30*time.Second)
			if took := time.Since(start); (err == nil) != c.sent || !c.sent && !errors.Is(err, os.ErrDeadlineExceeded) ||
				took > c.most {
				t.Errorf("half a MiB each %v: %v after %v", c.every, err, took)
			}
			time.Sleep(time.Hour) // the rest of the timers
		})
	}
}

// A body has exactly the size that it may have, whatever it announces.
func TestSize(t *testing.T) {
	for _, c := range []struct {
		length int64
		sent   int
		err    error
	}{
		{0, 0, nil}, {100, 100, nil}, {-1, 0, nil}, {-1, 100, nil}, {-1, 101, ErrTooLarge}, {101, 0, ErrTooLarge},
		{-1, 5000, ErrTooLarge},
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("x", c.sent)))
		r.ContentLength = c.length
		text, release, err := NewBudget(100, Memory).Read("bob", r, http.NewResponseController(httptest.NewRecorder()),
			100, time.Minute)
		if release(); !errors.Is(err, c.err) || err == nil && len(text) != c.sent {
			t.Errorf("%+v: %v, %d bytes", c, err, len(text))
		}
	}
}
