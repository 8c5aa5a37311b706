package isolate

import (
	"context"
	"fmt"
	"io"
	"os"

	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// streams sets stdin, stdout and stderr. A file that an option names becomes the program's own. The caller's streams
// are opened again or copied by the jail.
func (r *running) streams(ctx context.Context, j *job, id identity) error {
	c := r.cmd
	c.Stdin, c.Stdout, c.Stderr = r.tell.std.In, r.inherited(r.tell.std.Out), nil
	const create = unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC
	if r.o.Stdin != "" {
		f, err := r.open(ctx, j, id, r.o.Stdin, unix.O_RDONLY)
		if err != nil {
			return err
		}
		c.Stdin = f
	}
	if r.o.Stdout != "" {
		f, err := r.open(ctx, j, id, r.o.Stdout, create)
		if err != nil {
			return err
		}
		c.Stdout = f
	}
	switch {
	case r.o.Stderr != "":
		f, err := r.open(ctx, j, id, r.o.Stderr, create)
		if err != nil {
			return err
		}
		c.Stderr = f
	case r.o.Merge || same(r.tell.std.Out, r.tell.std.Err) && r.o.Stdout == "":
		c.Stderr = c.Stdout
	default:
		c.Stderr = r.inherited(r.tell.std.Err)
	}
	return nil
}

// open opens a file of an option. A FIFO has to wait for its other end (fifo(7)), but not longer than the run may take.
func (r *running) open(ctx context.Context, j *job, id identity, name string, flags int) (*nsjail.Given, error) {
	if r.o.Wall > 0 {
		limited, cancel := context.WithTimeout(ctx, r.o.Wall)
		defer cancel()
		ctx = limited
	}
	type opened struct {
		f   *os.File
		err error
	}
	done := make(chan opened, 1)
	go func() {
		f, err := id.openAs(j.places, name, flags)
		done <- opened{f, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return nil, o.err
		}
		r.files = append(r.files, o.f)
		return &nsjail.Given{File: o.f}, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("open(\"%s\"): nobody has opened the other end of the FIFO in time", name)
	}
}

func (r *running) close() {
	for _, f := range r.files {
		f.Close()
	}
}

// inherited returns the writer for a stream of the caller. The jail copies to a regular file, on which RLIMIT_FSIZE has
// no effect, so --fsize is held here.
func (r *running) inherited(f *os.File) io.Writer {
	st, err := f.Stat()
	if r.o.Fsize == 0 || err != nil || !st.Mode().IsRegular() {
		return f
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if flags, ferr := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0); err != nil || ferr == nil && flags&unix.O_APPEND != 0 {
		at = st.Size()
	}
	return &bounded{r: r, f: f, left: r.o.Fsize*1024 - at}
}

// bounded ends the run when its file would grow above the limit on the size of files.
type bounded struct {
	r    *running
	f    *os.File
	left int64
}

// Write writes what the limit permits. The rest is dropped: the program is being killed.
func (b *bounded) Write(p []byte) (int, error) {
	part := p[:max(0, min(b.left, int64(len(p))))]
	n, err := b.f.Write(part)
	b.left -= int64(n)
	if err == nil && len(part) < len(p) {
		b.r.overSize.Store(true)
		b.r.end()
		return len(p), nil
	}
	return n, err
}

func same(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}
