package nsjail

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openStreams gives the three descriptors that become the payload's stdin, stdout and stderr: the caller's own files
// where nothing has to be read or bounded, pipes to be copied otherwise, /dev/null for what is not set.
func (c *Cmd) openStreams() (fds []int, err error) {
	if c.Spec.TTY { // the payload's terminal takes their place
		for range 3 {
			if fds, err = appendNull(fds); err != nil {
				return fds, err
			}
		}
		return fds, nil
	}
	if fds, err = c.openStdin(fds); err != nil {
		return fds, err
	}
	l := &c.Spec.Limits
	through := l.Output == 0 && l.OutputLimit == 0 && l.Idle == 0
	for i, w := range []io.Writer{c.Stdout, c.Stderr} {
		if f, ok := w.(*os.File); ok && f != nil && through {
			if fds, err = appendDup(fds, f); err != nil {
				return fds, err
			}
			continue
		}
		if w == nil && through {
			if fds, err = appendNull(fds); err != nil {
				return fds, err
			}
			continue
		}
		if i == 1 && c.out[0] != nil && sameWriter(c.Stdout, c.Stderr) { // one pipe, which keeps the order
			fd, err := unix.FcntlInt(uintptr(fds[len(fds)-1]), unix.F_DUPFD_CLOEXEC, 0)
			if err != nil {
				return fds, os.NewSyscallError("fcntl", err)
			}
			fds = append(fds, fd)
			continue
		}
		ours, theirs, err := c.pipe(false)
		if err != nil {
			return fds, err
		}
		fds = append(fds, theirs)
		if w == nil {
			w = io.Discard
		}
		c.out[i] = newCapture(ours, w, int64(l.Output))
		c.out[i].said = c.said
	}
	return fds, nil
}

func sameWriter(a, b io.Writer) (same bool) {
	defer func() { _ = recover() }() // writers of an uncomparable type are not the same
	return a != nil && a == b
}

func (c *Cmd) openStdin(fds []int) ([]int, error) {
	if c.Stdin == nil {
		return appendNull(fds)
	}
	if f, ok := c.Stdin.(*os.File); ok && !readOnlyFile(f) {
		return appendDup(fds, f)
	}
	ours, theirs, err := c.pipe(true)
	if err != nil {
		return fds, err
	}
	c.copyIn = ours
	return append(fds, theirs), nil
}

// readOnlyFile says whether f is a regular file that the caller lends for reading only. A descriptor of it would be
// more: through /proc/self/fd/0 its owner opens it again for writing (proc(5)), and the payload is the owner when the
// caller is not root. It is copied through a pipe.
func readOnlyFile(f *os.File) bool {
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return false
	}
	rc, err := f.SyscallConn()
	if err != nil {
		return false
	}
	flags := 0
	var ferr error
	err = rc.Control(func(fd uintptr) { flags, ferr = unix.FcntlInt(fd, unix.F_GETFL, 0) })
	return err == nil && ferr == nil && flags&unix.O_ACCMODE == unix.O_RDONLY
}

func appendNull(fds []int) ([]int, error) {
	fd, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fds, &Error{Fault: FaultHost, Op: "stdio", Detail: err.Error()}
	}
	return append(fds, fd), nil
}

// appendDup lends a file of the caller's. Fd makes one that Go has set to not block (a pipe of os.Pipe) blocking again,
// as os/exec does: a program that reads its standard input expects to wait, not EAGAIN.
func appendDup(fds []int, f *os.File) ([]int, error) {
	// openat(2) below a directory's descriptor, and "..", lead to the whole file system of the host
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return fds, &Error{Fault: FaultCaller, Op: "stdio", Detail: quote(f.Name()) + " is a directory: the payload could walk the host's files from it",
			Remedy: "pass a file, a pipe or a terminal; share a directory with --input"}
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fds, &Error{Fault: FaultCaller, Op: "stdio", Detail: quote(f.Name()) + ": " + err.Error(), Remedy: "pass an open file"}
	}
	return append(fds, fd), nil
}

// pipe makes a pipe between us and the payload; to says that we write. The payload may open its end again through
// /dev/stdout, so the pipe belongs to its uid.
func (c *Cmd) pipe(to bool) (ours *os.File, theirs int, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, -1, &Error{Fault: FaultHost, Op: "pipe2", Detail: err.Error(), Remedy: "raise the limit on open files (ulimit -n)"}
	}
	mine, other := p[0], p[1]
	if to {
		mine, other = p[1], p[0]
	}
	if c.plan.Host.Drop {
		err = unix.Fchown(other, c.plan.Host.PayloadUID, c.plan.Host.PayloadGID)
	}
	if err = errors.Join(err, unix.SetNonblock(mine, true)); err != nil {
		closeAll(p[:])
		return nil, -1, err
	}
	ours = os.NewFile(uintptr(mine), "pipe")
	c.closers = append(c.closers, ours)
	return ours, other, nil
}

// startCopies begins to copy once the payload runs.
func (c *Cmd) startCopies() {
	if in := c.copyIn; in != nil {
		// not waited for: a caller's reader may block for ever after the payload has gone
		go func() {
			_, err := io.Copy(in, c.Stdin)
			if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, fs.ErrClosed) {
				c.stdinErr.Store(&err)
			}
			in.Close()
		}()
	}
	for _, o := range c.out {
		if o != nil {
			c.copies.Go(o.copy)
		}
	}
}

// attachTerminal connects the master side of the payload's terminal.
func (c *Cmd) attachTerminal(m *os.File) {
	c.closers = append(c.closers, m)
	if c.Terminal != nil {
		c.Terminal(m)
	}
	c.copyIn = nil
	if c.Stdin != nil {
		go func() {
			if _, err := io.Copy(m, c.Stdin); err == nil {
				_, _ = m.Write([]byte{4}) // end of file is a character on a terminal: termios(3) VEOF
			}
		}()
	}
	w := c.Stdout
	if w == nil {
		w = io.Discard
	}
	c.out[0] = newCapture(m, w, int64(c.Spec.Limits.Output))
	c.out[0].said = c.said
}

// counts is what went through our hands.
func (c *Cmd) counts() (o Output) {
	if s := c.out[0]; s != nil {
		o.StdoutBytes, o.StdoutDropped = s.total, s.dropped()
	}
	if s := c.out[1]; s != nil {
		o.StderrBytes, o.StderrDropped = s.total, s.dropped()
	}
	return o
}

// copyError is why output or input could not be copied to or from the caller.
func (c *Cmd) copyError() error {
	var errs []error
	for _, o := range c.out {
		if o != nil && !errors.Is(o.err, syscall.EPIPE) {
			errs = append(errs, o.err)
		}
	}
	if e := c.stdinErr.Load(); e != nil {
		errs = append(errs, *e)
	}
	return errors.Join(errs...)
}
