package run

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// written returns a copy to dst, and the payload's end of it.
func written(t *testing.T, dst io.Writer) (*capture, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	must.Do(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	return &capture{src: r, dst: dst}, w
}

// The end does not wait for a process that has the far end and lives on: the jail has no processes any more. All that
// was written before is copied.
func TestOutputsEnd(t *testing.T) {
	var out, shown bytes.Buffer
	var o outputs
	var payload, screen *os.File
	o.of[0], payload = written(t, &out)
	o.screen, screen = written(t, &shown)
	o.start()
	must.Get(payload.WriteString("said"))(t)
	must.Get(screen.WriteString("shown"))(t)
	done := make(chan bool)
	go func() { o.end(); close(done) }()
	waited(t, done)
	counts, dropped := o.counts()
	if out.String() != "said" || shown.String() != "shown" || counts != [2]int64{4, 0} || dropped != [2]int64{} {
		t.Errorf("%q, %q, %v, %v", &out, &shown, counts, dropped)
	}
}

// Each stream's error has its name; nothing is told of a stream that nobody copies, of a reader that has gone, and of
// the caller's own terminal.
func TestOutputsFailure(t *testing.T) {
	full := &capture{err: unix.ENOSPC}
	for name, c := range map[string]struct {
		o    *outputs
		want string
	}{
		"none":       {&outputs{}, ""},
		"good":       {&outputs{of: [2]*capture{{}, {}}}, ""},
		"stdout":     {&outputs{of: [2]*capture{full, nil}}, "stdout: no space left on device; give it more room"},
		"stderr":     {&outputs{of: [2]*capture{{}, full}}, "stderr: no space left on device; give it more room"},
		"both":       {&outputs{of: [2]*capture{full, full}}, "stdout: no space left on device; give it more room\nstderr: no space left on device; give it more room"},
		"nobody":     {&outputs{of: [2]*capture{{err: unix.EPIPE}, nil}}, ""},
		"the screen": {&outputs{screen: full}, ""},
	} {
		if got := message(c.o.failure()); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// The meter bounds what passes: the rest is counted, and dropped.
func TestCaptureCounts(t *testing.T) {
	var out bytes.Buffer
	left := 5
	c, payload := written(t, &out)
	c.count = func(n int) int { n = min(n, left); left -= n; return n }
	go func() {
		for range 3 {
			_, _ = payload.WriteString("abc")
		}
		payload.Close()
	}()
	if c.copy(); out.String() != "abcab" || c.total != 9 || c.dropped() != 4 {
		t.Errorf("%q of %d, dropped %d", &out, c.total, c.dropped())
	}
}

// The keeper closes a destination that is its own, since the reader of that waits for the end. An error there is told.
func TestCaptureClosesItsOwn(t *testing.T) {
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer r.Close()
	c, payload := written(t, w)
	c.own = w
	payload.Close()
	c.copy()
	if got := must.Get(io.ReadAll(r))(t); len(got) != 0 || c.err != nil {
		t.Errorf("%q, %v", got, c.err)
	}
	c, payload = written(t, w)
	c.own = w
	payload.Close()
	if c.copy(); !errors.Is(c.err, os.ErrClosed) {
		t.Errorf("of a closed one: %v", c.err)
	}
}

// Without a reader the payload gets SIGPIPE, as without a keeper.
func TestCaptureWithoutAReader(t *testing.T) {
	for _, gone := range []error{unix.EPIPE, unix.ECONNRESET} {
		c, payload := written(t, failing{gone})
		must.Get(payload.WriteString("x"))(t)
		if c.copy(); !errors.Is(c.err, unix.EPIPE) {
			t.Errorf("%v: %v", gone, c.err)
		}
		if _, err := payload.WriteString("y"); !errors.Is(err, unix.EPIPE) {
			t.Errorf("%v: the payload's write: %v", gone, err)
		}
	}
}

// A process that a command of a box has left behind does not end by SIGPIPE when it writes: somebody reads on.
func TestReadOn(t *testing.T) {
	var out bytes.Buffer
	var o outputs
	var server *os.File
	o.of[1], server = written(t, &out)
	o.start()
	o.end()
	o.readOn()
	o.of[1].src.Close()
	more := strings.Repeat("log\n", 64<<10) // more than a pipe holds
	if n, err := server.WriteString(more); n != len(more) || err != nil {
		t.Errorf("%d of %d, %v", n, len(more), err)
	}
	if out.Len() != 0 {
		t.Errorf("the command has said %q", &out)
	}
	server.Close()
	closed, payload := written(t, &out)
	payload.Close()
	before := len(must.Get(os.ReadDir("/proc/self/fd"))(t))
	if closed.readOn(); len(must.Get(os.ReadDir("/proc/self/fd"))(t)) != before {
		t.Error("nobody can write, and somebody reads on")
	}
}
