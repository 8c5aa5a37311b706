package run

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// own is a pidfd of this process, which does not end.
func own(t *testing.T) *os.File {
	t.Helper()
	f := os.NewFile(uintptr(must.Get(unix.PidfdOpen(os.Getpid(), unix.PIDFD_NONBLOCK))(t)), "pidfd")
	t.Cleanup(func() { f.Close() })
	return f
}

// stdin returns a feed, and the payload's end of its pipe.
func stdin(t *testing.T) (*feed, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	must.Do(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	return &feed{to: w}, r
}

// waited receives from a channel, or ends the test.
func waited[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(10 * time.Second):
		t.Fatal("it still waits")
	}
	return v
}

// What a reader has is copied, after what comes first, and then the payload reads the end. An error of the reader is
// told, and that the payload has closed its stdin is none.
func TestFeed(t *testing.T) {
	for name, c := range map[string]struct {
		from        io.Reader
		first       string
		taken       bool // first is passed on
		got, failed string
	}{
		"a reader":             {from: strings.NewReader("all"), got: "all"},
		"nothing":              {from: strings.NewReader("")},
		"byte by byte":         {from: iotest.OneByteReader(strings.NewReader("slow")), got: "slow"},
		"a handover":           {from: strings.NewReader(", then"), first: "first", taken: true, got: "first, then"},
		"an empty handover":    {from: strings.NewReader("x"), taken: true, got: "x"},
		"a reader that breaks": {from: io.MultiReader(strings.NewReader("some"), iotest.ErrReader(errors.New("no tape"))), got: "some", failed: "stdin: no tape"},
		"closed meanwhile":     {from: iotest.ErrReader(os.ErrClosed)},
	} {
		f, payload := stdin(t)
		if c.taken {
			f.first, f.took = []byte(c.first), make(chan bool, 1)
		}
		f.start(c.from, own(t))
		got := must.Get(io.ReadAll(payload))(t)
		if string(got) != c.got || message(f.failure()) != c.failed {
			t.Errorf("%s: %q, %v", name, got, f.failure())
		}
		if c.taken && !waited(t, f.took) {
			t.Errorf("%s: it was not written", name)
		}
		f.end()
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A payload that has closed its stdin has not taken what was handed over, and the caller's reader is not read for it.
func TestFeedOfAClosedStdin(t *testing.T) {
	f, payload := stdin(t)
	payload.Close()
	f.first, f.took = []byte("first"), make(chan bool, 1)
	f.start(iotest.ErrReader(errors.New("it is read")), own(t))
	if waited(t, f.took) {
		t.Error("it was written")
	}
	waitClosed(t, f.to)
	if err := f.failure(); err != nil {
		t.Error(err)
	}
}

// waitClosed waits until a file is closed.
func waitClosed(t *testing.T, f *os.File) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); f.SetDeadline(time.Time{}) == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is still open")
		}
	}
}

// Nothing is copied without a pipe, and a file that was to be copied is closed when nothing was.
func TestFeedOfNothing(t *testing.T) {
	f := &feed{}
	f.start(iotest.ErrReader(errors.New("it is read")), nil)
	f.end()
	file := must.Get(os.Open(os.DevNull))(t)
	f.file = file
	if f.end(); file.Close() == nil {
		t.Error("the file is open")
	}
}

// A file of the caller's is read only while the payload can have it: what is left belongs to the next reader.
func TestFeedLeavesTheRest(t *testing.T) {
	p, c := child(t, "sleep", "100")
	source, typed, err := os.Pipe()
	must.Do(t, err)
	defer source.Close()
	defer typed.Close()
	dup := os.NewFile(uintptr(must.Get(unix.FcntlInt(source.Fd(), unix.F_DUPFD_CLOEXEC, 0))(t)), "dup")
	must.Do(t, unix.SetNonblock(int(dup.Fd()), true))
	f, payload := stdin(t)
	f.file = dup
	f.start(nil, p.Pidfd)
	must.Get(typed.WriteString("one"))(t)
	buf := make([]byte, 10)
	if n := must.Get(payload.Read(buf))(t); string(buf[:n]) != "one" {
		t.Errorf("%q", buf[:n])
	}
	must.Do(t, c.Process.Kill())
	_ = c.Wait()
	waitClosed(t, f.to) // the jail has ended
	must.Get(typed.WriteString("two"))(t)
	if n := must.Get(source.Read(buf))(t); string(buf[:n]) != "two" || f.failure() != nil {
		t.Errorf("%q is left, %v", buf[:n], f.failure())
	}
}

// A terminal marks the end of file by a character, and a reader that breaks is no end.
func TestTypeTo(t *testing.T) {
	for want, from := range map[string]io.Reader{
		"text\x04": strings.NewReader("text"), "\x04": strings.NewReader(""),
		"half": io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("x"))),
	} {
		var got strings.Builder
		if typeTo(&got, from); got.String() != want {
			t.Errorf("%q, want %q", got.String(), want)
		}
	}
}
