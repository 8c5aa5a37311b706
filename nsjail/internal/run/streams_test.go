package run

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// ends are the payload's ends of streams.
type ends [3]*os.File

// opened opens streams, whose ends are the test's.
func opened(t *testing.T, s *Streams) (e ends) {
	t.Helper()
	for i, fd := range must.Get(s.Open())(t) {
		e[i] = os.NewFile(uintptr(fd), streamNames[i])
		t.Cleanup(func() { e[i].Close() })
	}
	return e
}

func (e ends) close() {
	for _, f := range e {
		f.Close()
	}
}

// kind returns what a stream is: null, pipe, a file's name.
func kind(t *testing.T, f *os.File) string {
	t.Helper()
	name := must.Get(os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd()))))(t)
	kind, _, _ := strings.Cut(name, ":")
	return kind
}

// A file of the caller's is opened again where that is safe, and copied where it is not. What is no file is copied. A stream
// that is not set is /dev/null.
func TestOpen(t *testing.T) {
	file := must.Get(os.Create(filepath.Join(t.TempDir(), "f")))(t)
	defer file.Close()
	null := must.Get(os.OpenFile(os.DevNull, os.O_RDWR, 0))(t)
	defer null.Close()
	zero := must.Get(os.Open("/dev/zero"))(t)
	defer zero.Close()
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer r.Close()
	defer w.Close()
	var text bytes.Buffer
	for name, c := range map[string]struct {
		s      *Streams
		want   string // of the kinds
		copied string // what the keeper copies: i, o, e
	}{
		"nothing":               {&Streams{}, "/dev/null /dev/null /dev/null", ""},
		"no file":               {&Streams{In: strings.NewReader(""), Out: [2]io.Writer{&text, io.Discard}}, "pipe pipe pipe", "ioe"},
		"one writer":            {&Streams{Out: [2]io.Writer{&text, &text}}, "/dev/null pipe pipe", "o"},
		"devices":               {&Streams{In: zero, Out: [2]io.Writer{null, null}}, "/dev/zero /dev/null /dev/null", ""},
		"pipes":                 {&Streams{In: r, Out: [2]io.Writer{w, w}}, "pipe pipe pipe", ""},
		"a regular file":        {&Streams{Out: [2]io.Writer{file, file}}, "/dev/null pipe pipe", "o"},
		"a regular input":       {&Streams{In: file}, "pipe /dev/null /dev/null", "i"},
		"one that is given":     {&Streams{In: &Given{file}, Out: [2]io.Writer{&Given{file}, nil}}, file.Name() + " " + file.Name() + " /dev/null", ""},
		"what the keeper reads": {&Streams{Read: Copies, Out: [2]io.Writer{w, nil}}, "/dev/null pipe pipe", "oe"},
		"a terminal of its own": {&Streams{TTY: true, In: r, Out: [2]io.Writer{w, w}}, "/dev/null /dev/null /dev/null", ""},
		"the same descriptions": {&Streams{Same: true, In: file}, file.Name() + " /dev/null /dev/null", ""},
	} {
		s := c.s
		e := opened(t, s)
		got := []string{}
		for _, f := range e {
			got = append(got, kind(t, f))
		}
		copied := ""
		for i, is := range []bool{s.in.to != nil, s.out.of[0] != nil, s.out.of[1] != nil} {
			if is {
				copied += "ioe"[i : i+1]
			}
		}
		if strings.Join(got, " ") != c.want || copied != c.copied {
			t.Errorf("%s: %v, copied %q", name, got, copied)
		}
		e.close()
		s.End()
	}
	if _, err := (&Streams{In: must.Get(os.Open("/"))(t)}).Open(); err == nil || err.(*spec.Error).Op != "stdin" {
		t.Errorf("a directory: %v", err)
	}
	file.Close()
	if _, err := (&Streams{Out: [2]io.Writer{nil, file}}).Open(); err == nil || err.(*spec.Error).Op != "stderr" {
		t.Errorf("a closed file: %v", err)
	}
}

// What is read and written passes through; the counts have all, and what was kept is the head and the tail.
func TestCopies(t *testing.T) {
	var out, errs bytes.Buffer
	p, c := child(t, "sleep", "100")
	s := &Streams{In: strings.NewReader("question"), Out: [2]io.Writer{&out, &errs}, Keep: 4}
	e := opened(t, s)
	s.Start(p.Pidfd)
	question := must.Get(io.ReadAll(e[0]))(t) // to the end, which the keeper closes
	must.Get(e[1].WriteString("0123456789"))(t)
	must.Get(e[2].WriteString("oh"))(t)
	e.close()
	s.End()
	counts, dropped := s.Counts()
	if string(question) != "question" || out.String() != "0189" || errs.String() != "oh" || counts != [2]int64{10, 2} || dropped != [2]int64{6, 0} {
		t.Errorf("%q, %q, %q, %v, %v", question, &out, &errs, counts, dropped)
	}
	must.Do(t, errors.Join(s.Err(), c.Process.Kill()))
}

// failing fails to read and to write.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }

// A copy that fails is an error with the stream's name. A reader that has gone is no error.
func TestErr(t *testing.T) {
	for name, c := range map[string]struct {
		in, out error
		want    string
	}{
		"stdin":           {errors.New("no tape"), nil, "stdin: no tape"},
		"stdout":          {nil, errors.New("no paper"), "stdout: no paper"},
		"nobody reads it": {nil, unix.EPIPE, ""},
		"nor in a socket": {nil, unix.ECONNRESET, ""},
	} {
		p, _ := child(t, "sleep", "100")
		s := &Streams{Out: [2]io.Writer{failing{c.out}, nil}}
		if c.in != nil {
			s.In, s.Out[0] = failing{c.in}, nil
		}
		e := opened(t, s)
		s.Start(p.Pidfd)
		if c.in != nil {
			must.Get(io.ReadAll(e[0]))(t)
		} else {
			_, _ = e[1].WriteString("x")
		}
		e.close()
		s.End()
		if err := s.Err(); (err != nil) != (c.want != "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		_ = p.Signal(unix.SIGKILL)
	}
}

// A parked payload is ready when it has written one byte, and only that.
func TestAwaitReady(t *testing.T) {
	for name, c := range map[string]struct {
		out, errs string
		end       bool
		want      string
	}{
		"ready":               {"\x06", "warming up\n", false, ""},
		"chatty":              {"x", "", false, "it has written to stdout"},
		"ended":               {"", "one\ntwo\n", true, "it has ended: two"},
		"slow":                {"", "", false, "it is not ready after 20ms"},
		"slow, with a reason": {"", "no module\n", false, "it is not ready after 20ms: no module"},
		"hostile bytes":       {"x", "\x1b[2J\xff\a", false, `it has written to stdout: \x1b[2J\xff\x07`},
		"a long reason":       {"x", strings.Repeat("line\n", 12<<10) + strings.Repeat("y", 1000), false, "it has written to stdout: " + strings.Repeat("y", 300)},
		"empty lines":         {"x", "why\n\n \n", false, "it has written to stdout: why"},
	} {
		s := &Streams{In: strings.NewReader(""), Out: [2]io.Writer{io.Discard, &bytes.Buffer{}}, Read: Copies}
		e := opened(t, s)
		must.Get(e[2].WriteString(c.errs))(t)
		must.Get(e[1].WriteString(c.out))(t)
		if c.end {
			e.close()
		}
		err := s.AwaitReady(20 * time.Millisecond)
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && !s.Silent() {
			t.Errorf("%s: it has said nothing since", name)
		}
		e.close()
		s.End()
	}
}

// A parked payload can be handed over while its streams are open and it has written nothing.
func TestSilent(t *testing.T) {
	for name, spoil := range map[string]func(ends){
		"": func(ends) {}, "no stdin": func(e ends) { e[0].Close() }, "no stdout": func(e ends) { e[1].Close() },
		"a word": func(e ends) { _, _ = e[1].WriteString("x") }, "a message": func(e ends) { _, _ = e[2].WriteString("x") },
	} {
		s := &Streams{In: strings.NewReader(""), Out: [2]io.Writer{io.Discard, &bytes.Buffer{}}, Read: Copies}
		e := opened(t, s)
		if spoil(e); s.Silent() != (name == "") {
			t.Errorf("%s: silent %v", name, s.Silent())
		}
		e.close()
		s.End()
	}
}

// A handover has pipes that the keeper copies, and begins with what the caller has passed.
func TestTake(t *testing.T) {
	parked := &Streams{In: strings.NewReader(""), Out: [2]io.Writer{io.Discard, &bytes.Buffer{}}, Read: Copies}
	e := opened(t, parked)
	p, c := child(t, "sleep", "100")
	var out bytes.Buffer
	s := &Streams{In: strings.NewReader("second"), Out: [2]io.Writer{&out, nil}}
	s.Take(parked, []byte("first, "))
	s.Start(p.Pidfd)
	got := must.Get(io.ReadAll(e[0]))(t)
	must.Get(e[1].WriteString("answer"))(t)
	e.close()
	if s.End(); string(got) != "first, second" || out.String() != "answer" || !s.TookFirst() {
		t.Errorf("%q, %q", got, &out)
	}
	must.Do(t, c.Process.Kill())
	same := &bytes.Buffer{}
	for name, c := range map[string]struct {
		s    *Streams
		want bool
	}{
		"pipes": {&Streams{Out: [2]io.Writer{&out, nil}}, true}, "a file": {&Streams{In: os.Stdin}, false},
		"a file of messages": {&Streams{Out: [2]io.Writer{nil, os.Stderr}}, false}, "a terminal": {&Streams{TTY: true}, false},
		"one for both": {&Streams{Out: [2]io.Writer{same, same}}, false},
	} {
		if c.s.CanTake() != c.want {
			t.Errorf("%s: %v", name, c.s.CanTake())
		}
	}
}

// Streams that are not set, or that a terminal replaces, are none of the caller's.
func TestNull(t *testing.T) {
	var text bytes.Buffer
	for name, c := range map[string]struct {
		s    *Streams
		want [3]bool
	}{
		"none":       {&Streams{}, [3]bool{true, true, true}},
		"some":       {&Streams{In: &text, Out: [2]io.Writer{nil, &text}}, [3]bool{false, true, false}},
		"a terminal": {&Streams{In: &text, Out: [2]io.Writer{&text, &text}, TTY: true}, [3]bool{true, true, true}},
	} {
		if got := c.s.Null(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A box's process has pipes for the streams that are set, whatever they are, and the keeper passes no others.
func TestOpenPipes(t *testing.T) {
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer r.Close()
	defer w.Close()
	s := &Streams{Read: Pipes, In: r, Out: [2]io.Writer{nil, w}}
	fds := must.Get(s.Open())(t)
	if fds[0] < 0 || fds[1] != -1 || fds[2] < 0 {
		t.Fatalf("%v", fds)
	}
	for _, fd := range []int{fds[0], fds[2]} {
		f := os.NewFile(uintptr(fd), "stream")
		if k := kind(t, f); k != "pipe" || statOf(t, fd).Ino == statOf(t, int(w.Fd())).Ino {
			t.Errorf("%s", k)
		}
		f.Close()
	}
	s.End()
}

// A payload's terminal takes what is typed, with the end of the file as a key, and its output is what the terminal
// shows. The caller is told of it.
func TestAttach(t *testing.T) {
	var out bytes.Buffer
	var told *os.File
	master, slave := pty(t)
	s := &Streams{TTY: true, In: strings.NewReader("typed\n"), Out: [2]io.Writer{&out, nil}, Terminal: func(f *os.File) { told = f }}
	e := opened(t, s)
	e.close()
	must.Do(t, unix.SetNonblock(int(master.Fd()), true))
	m := os.NewFile(uintptr(must.Get(unix.Dup(int(master.Fd())))(t)), "ptmx")
	s.Attach(m)
	s.Start(own(t))
	typed := must.Get(io.ReadAll(slave))(t) // to the key of the end
	must.Get(slave.WriteString("shown\n"))(t)
	slave.Close()
	master.Close()
	s.End()
	if string(typed) != "typed\n" || told != m || !strings.HasSuffix(out.String(), "shown\r\n") || s.Err() != nil {
		t.Errorf("%q, %q, told %v, %v", typed, &out, told == m, s.Err())
	}
	if counts, _ := s.Counts(); counts[0] != int64(out.Len()) {
		t.Errorf("%d of %d bytes", counts[0], out.Len())
	}
}

// What is no terminal of this process controls nothing, nor does a stream that is copied in any case.
func TestControlling(t *testing.T) {
	_, terminal := pty(t)
	closed := must.Get(os.Open(os.DevNull))(t)
	closed.Close()
	var none *os.File
	for _, f := range []*os.File{terminal, closed, none} {
		if n := Controlling(f, [2]io.Writer{f, f}, false); n != 0 {
			t.Errorf("stream %d", n-1)
		}
	}
	if n := Controlling(nil, [2]io.Writer{}, true); n != 0 {
		t.Errorf("stream %d", n-1)
	}
}
