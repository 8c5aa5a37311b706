package run

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// headAndTail is what a capture must give: computed from the whole stream.
func headAndTail(stream []byte, limit int) []byte {
	if limit == 0 || len(stream) <= limit {
		return stream
	}
	head := limit - limit/2
	return append(bytes.Clone(stream[:head]), stream[len(stream)-limit/2:]...)
}

func TestCaptureKeepsHeadAndTail(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, limit := range []int{0, 1, 2, 3, 7, 8, 100, 4096} {
		for _, size := range []int{0, 1, 2, limit - 1, limit, limit + 1, 2*limit + 3, 10*limit + 1, 50_000} {
			stream := make([]byte, max(size, 0))
			for i := range stream {
				stream[i] = byte(rnd.Uint32())
			}
			for _, most := range []int{1, 3, limit/2 + 1, 70_000} { // chunks of up to this size
				var got bytes.Buffer
				c := &capture{dst: &got, limit: int64(limit)}
				for b := stream; len(b) > 0; {
					n := min(len(b), 1+rnd.IntN(most))
					c.take(b[:n])
					b = b[n:]
				}
				c.flush()
				want := headAndTail(stream, limit)
				if !bytes.Equal(got.Bytes(), want) {
					t.Errorf("limit %d, %d bytes in chunks up to %d: %d bytes, want %d", limit, len(stream), most, got.Len(), len(want))
				}
				if c.total != int64(len(stream)) || c.dropped() != int64(len(stream)-len(want)) {
					t.Errorf("limit %d, %d bytes: counted %d, dropped %d", limit, len(stream), c.total, c.dropped())
				}
			}
		}
	}
}

// The tail is bounded memory, whatever the stream's length.
func TestCaptureIsBounded(t *testing.T) {
	c := &capture{dst: io.Discard, limit: 1000}
	for range 10_000 {
		c.take(make([]byte, 777))
	}
	if cap(c.tail) > 4096 || c.total != 7_770_000 {
		t.Errorf("a tail of %d bytes, %d counted", cap(c.tail), c.total)
	}
}

type brokenWriter struct{ calls int }

var errBroken = errors.New("broken")

func (w *brokenWriter) Write(b []byte) (int, error) {
	w.calls++
	return 0, errBroken
}

// A writer that fails does not stop the reading: the payload would block on a full pipe.
func TestCaptureReadsOnAfterAFailedWrite(t *testing.T) {
	for _, limit := range []int64{0, 100} {
		r, w, err := os.Pipe()
		must.Do(t, err)
		broken := &brokenWriter{}
		c := &capture{src: r, dst: broken, limit: limit}
		done := make(chan struct{})
		go func() { c.copy(); close(done) }()
		if _, err := io.Copy(w, strings.NewReader(strings.Repeat("x", 1<<20))); err != nil {
			t.Error(err)
		}
		w.Close()
		<-done
		r.Close()
		if !errors.Is(c.err, errBroken) || broken.calls != 1 || c.total != 1<<20 {
			t.Errorf("limit %d: %v after %d calls, %d bytes", limit, c.err, broken.calls, c.total)
		}
	}
}

func TestSameWriterOfUncomparableTypes(t *testing.T) {
	var b bytes.Buffer
	if !sameWriter(&b, &b) || sameWriter(&b, new(bytes.Buffer)) || sameWriter(nil, nil) {
		t.Error("pointers")
	}
	if w := (manyWriters{&b}); sameWriter(w, w) {
		t.Error("an uncomparable type")
	}
}

type manyWriters []io.Writer

func (m manyWriters) Write(b []byte) (int, error) { return m[0].Write(b) }

// TestOutputLimitSmallWrites writes byte by byte, so that the ring of the tail turns at every position.
func TestOutputLimitSmallWrites(t *testing.T) {
	for limit := range 12 {
		for total := range 40 {
			var out bytes.Buffer
			c := &capture{dst: &out, limit: int64(limit)}
			all := []byte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJ")[:total]
			for i, n := 0, 1; i < total; i, n = i+n, n%5+1 {
				c.take(all[i:min(i+n, total)])
			}
			c.flush()
			want := string(all)
			if limit > 0 && limit < total {
				want = string(all[:limit-limit/2]) + string(all[total-limit/2:])
			}
			if out.String() != want || c.dropped() != int64(total-len(want)) {
				t.Errorf("limit %d of %d bytes: %q, want %q; %d dropped", limit, total, out.String(), want, c.dropped())
			}
		}
	}
}

// A stream is copied whole through the buffer that grows, and a short one does not pay for a long one.
func TestCaptureReadsThroughAGrowingBuffer(t *testing.T) {
	copied := func(size int) (got bytes.Buffer) {
		r, w, err := os.Pipe()
		must.Do(t, err)
		defer r.Close()
		go func() {
			_, _ = w.Write(bytes.Repeat([]byte("x"), size))
			w.Close()
		}()
		(&capture{src: r, dst: &got}).copy()
		return got
	}
	for _, size := range []int{0, 1, firstRead, firstRead + 1, 2 * firstRead, 5*fullRead + 1} {
		if got := copied(size); got.Len() != size {
			t.Errorf("%d bytes of %d", got.Len(), size)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		copied(5)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / 10; each > 16<<10 {
		t.Errorf("a copy of 5 bytes allocates %d", each)
	}
}

// TestTheEndCountsOnce: more is left than is read at once, and the reader goes with the first piece. That piece is
// counted once.
func TestTheEndCountsOnce(t *testing.T) {
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer r.Close()
	defer w.Close()
	must.Get(w.Write(make([]byte, 48<<10)))(t)
	c := &capture{src: r, dst: failing{unix.EPIPE}}
	buf := make([]byte, 32<<10)
	if err := c.drain(buf); !errors.Is(err, os.ErrClosed) || c.total != int64(len(buf)) {
		t.Errorf("%v, %d bytes, want %d", err, c.total, len(buf))
	}
}

// TestTheEndWithoutAReader: the output that is left when the jail ends has no reader any more, and the end does not
// wait for one.
func TestTheEndWithoutAReader(t *testing.T) {
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer w.Close()
	must.Get(w.WriteString("left"))(t)
	c := &capture{src: r, dst: failing{unix.EPIPE}}
	c.over()
	done := make(chan bool)
	go func() {
		c.copy()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it still waits")
	}
	if !errors.Is(c.err, unix.EPIPE) || c.total != 4 {
		t.Errorf("%v, %d bytes", c.err, c.total)
	}
}
