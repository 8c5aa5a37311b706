package nsjail

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/spec"
)

func TestStdinKinds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "in")
	must.Do(t, os.WriteFile(file, []byte("from a file"), 0o666))
	f, err := os.Open(file)
	must.Do(t, err)
	defer f.Close()
	pr, pw, err := os.Pipe()
	must.Do(t, err)
	defer pr.Close()
	fmt.Fprint(pw, "from a pipe")
	pw.Close()
	for _, c := range []struct {
		in   io.Reader
		want string
	}{{nil, ""}, {strings.NewReader("from a reader"), "from a reader"}, {f, "from a file"}, {pr, "from a pipe"}, {io.LimitReader(zeros{}, 0), ""}} {
		cmd := Command("cat")
		cmd.Stdin = c.in
		wantOutput(t, cmd, c.want)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// TestStdinFileStaysAsItIs: a file lent for reading is not the payload's to write, though its owner and mode would
// allow that through /proc/self/fd/0.
func TestStdinFileStaysAsItIs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "in")
	must.Do(t, os.WriteFile(file, []byte("precious"), 0o666))
	must.Do(t, os.Chmod(file, 0o666))
	f := must.Get(os.Open(file))(t)
	defer f.Close()
	c := shell("echo gone >/dev/stdin; echo gone >/proc/self/fd/0; echo gone 1<>/proc/self/fd/0; cat >/dev/null")
	c.Stdin = f
	mustRun(t, c)
	if b, err := os.ReadFile(file); err != nil || string(b) != "precious" {
		t.Errorf("the file holds %q, %v", b, err)
	}
}

// TestDirectoryIsNoStream: a descriptor of a directory would lead to every file of the host.
func TestDirectoryIsNoStream(t *testing.T) {
	d := must.Get(os.Open("/"))(t)
	defer d.Close()
	for _, set := range []func(*Cmd){func(c *Cmd) { c.Stdin = d }, func(c *Cmd) { c.Stdout = d }, func(c *Cmd) { c.Stderr = d }} {
		c := shell("ls /proc/self/fd/0/etc")
		set(c)
		if e := startError(t, c); e.Fault != spec.FaultCaller || !strings.Contains(e.Detail.String(), "directory") {
			t.Errorf("%v", e)
		}
	}
}

func TestOutputKinds(t *testing.T) {
	const script = "echo out; echo err >&2"
	var out, both bytes.Buffer
	c := shell(script)
	c.Stdout = &out
	if r, err := c.Run(); err != nil || out.String() != "out\n" || r.Output != (Output{StdoutBytes: 4}) {
		t.Errorf("a buffer: %q, %+v, %v", out.String(), r, err)
	}
	c = shell(script)
	c.Stdout, c.Stderr = &both, &both
	if r, err := c.Run(); err != nil || both.String() != "out\nerr\n" || r.Output != (Output{StdoutBytes: 8}) {
		t.Errorf("one buffer for both: %q, %+v, %v", both.String(), r, err)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	must.Do(t, err)
	defer f.Close()
	c = shell(script)
	c.Stdout, c.Stderr = f, f
	r, err := c.Run()
	b, rerr := os.ReadFile(f.Name())
	if err != nil || rerr != nil || string(b) != "out\nerr\n" || r.Output != (Output{StdoutBytes: 8}) {
		t.Errorf("a file: %q, %+v, %v, %v", b, r, err, rerr)
	}
	if r, err := shell(script).Run(); err != nil || r.Output != (Output{}) {
		t.Errorf("nil: %+v, %v", r, err)
	}
	c = shell(script)
	c.Spec.Limits.Output = 100 // nothing is kept, and everything is counted
	if r, err := c.Run(); err != nil || r.Output.StdoutBytes != 4 || r.Output.StderrBytes != 4 {
		t.Errorf("nil, bounded: %+v, %v", r, err)
	}
	wantOutput(t, shell("for i in 1 2 3; do echo $i; echo $i >&2; done"), "1\n1\n2\n2\n3\n3")
	wantOutput(t, shell("echo one >/dev/stdout; echo two >/dev/stderr; echo three >/dev/fd/1"), "one\ntwo\nthree")
}

// failing is a writer that is full after some bytes.
type failing struct{ room int }

var errFull = errors.New("full")

func (f *failing) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestWriterFails(t *testing.T) {
	c := shell("head -c 1000000 /dev/zero; echo $? >&2")
	var stderr bytes.Buffer
	c.Stdout, c.Stderr = &failing{1000}, &stderr
	r, err := c.Run()
	if !errors.Is(err, errFull) || r == nil || r.Status != StatusOK || r.Output.StdoutBytes != 1_000_000 || stderr.String() != "0\n" {
		t.Errorf("%+v, %v, %q", r, err, stderr.String())
	}
}

// TestLargeStreams sends 64 MiB through cat and compares every byte.
func TestLargeStreams(t *testing.T) {
	size := int64(64 << 20)
	if testing.Short() {
		size = 4 << 20
	}
	in, out := sha256.New(), sha256.New()
	c := Command("cat")
	c.Stdin = io.TeeReader(io.LimitReader(&counting{}, size), in)
	c.Stdout = out
	r, err := c.Run()
	if err != nil || r.Output.StdoutBytes != size || r.Output.StdoutDropped != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if !bytes.Equal(in.Sum(nil), out.Sum(nil)) {
		t.Error("the bytes differ")
	}
}

// counting reads as bytes that do not repeat soon.
type counting struct{ n uint32 }

func (c *counting) Read(b []byte) (int, error) {
	for i := range b {
		c.n = c.n*1664525 + 1013904223
		b[i] = byte(c.n >> 24)
	}
	return len(b), nil
}

// TestInputIsNotRead: a payload that ends without reading is not an error, and a blocked reader does not block Wait.
func TestInputIsNotRead(t *testing.T) {
	c := shell("exit 4")
	c.Stdin = zeros{}
	if r, err := c.Run(); err != nil || r.ExitCode != 4 {
		t.Errorf("endless: %+v, %v", r, err)
	}
	pr, pw := io.Pipe()
	defer pw.Close()
	c = shell("exit 5")
	c.Stdin = pr
	if r, err := c.Run(); err != nil || r.ExitCode != 5 {
		t.Errorf("blocked: %+v, %v", r, err)
	}
	c = Command("cat")
	c.Stdin = io.MultiReader(strings.NewReader("some"), errorReader{})
	if r, err := c.Run(); !errors.Is(err, errFull) {
		t.Errorf("a reader that fails: %+v, %v", r, err)
	}
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, errFull }

// numbers is what `seq 1 n` prints.
func numbers(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

func TestOutputLimit(t *testing.T) {
	all := numbers(20000)
	for _, limit := range []int{1, 2, 3, 1000, 4097, 65536, 65537, len(all) - 1, len(all), len(all) + 1} {
		var out, errs bytes.Buffer
		c := shell("seq 1 20000; seq 1 20000 >&2")
		c.Stdout, c.Stderr = &out, &errs
		c.Spec.Limits.Output = spec.Bytes(limit)
		r := must.Get(c.Run())(t)
		want := all
		if limit < len(all) {
			want = all[:limit-limit/2] + all[len(all)-limit/2:]
		}
		o := Output{int64(len(all)), int64(len(all) - len(want)), int64(len(all)), int64(len(all) - len(want))}
		if out.String() != want || errs.String() != want || r.Output != o {
			t.Errorf("limit %d: %d and %d bytes, want %d; %+v, want %+v", limit, out.Len(), errs.Len(), len(want), r.Output, o)
		}
	}
}
