package nsjail

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"brig/nsjail/internal/spec"

	"golang.org/x/sys/unix"
)

// openStreams returns the three descriptors that become the payload's stdin, stdout and stderr. They are the caller's
// own files, opened again, where that is possible and nothing has to be read or bounded. Otherwise they are pipes to be
// copied. A stream that is not set is /dev/null.
func (c *Cmd) openStreams() ([]int, error) {
	l := lender{cmd: c, fds: make([]int, 0, 3)}
	for i := range streamNames {
		fd, err := l.open(i)
		if err != nil {
			return l.fds, err
		}
		l.fds = append(l.fds, fd)
	}
	return l.fds, nil
}

// open opens stream i, behind those that are open.
func (l *lender) open(i int) (int, error) {
	switch {
	case l.cmd.Spec.TTY: // the payload's terminal takes its place
		return openNull()
	case i == 0:
		return l.stdin()
	}
	return l.output(i - 1)
}

func (l *lender) stdin() (int, error) {
	c := l.cmd
	if c.Stdin == nil {
		return openNull()
	}
	if f, ok := c.Stdin.(*os.File); ok && f != nil {
		if fd, err := l.lend(f); fd >= 0 || err != nil {
			return fd, err
		}
		c.stdin = l.files[0].copied
	}
	ours, theirs, err := c.pipe(true)
	c.copyIn = ours
	return theirs, err
}

// output opens stdout (0) or stderr (1).
func (l *lender) output(i int) (int, error) {
	c := l.cmd
	w := [2]io.Writer{c.Stdout, c.Stderr}[i]
	if limits := &c.Spec.Limits; limits.Output == 0 && limits.OutputLimit == 0 && limits.Idle == 0 {
		if w == nil {
			return openNull()
		}
		if f, ok := w.(*os.File); ok && f != nil {
			if fd, err := l.lend(f); fd >= 0 || err != nil {
				return fd, err
			}
		}
	}
	file := l.files[i+1].copied
	// one pipe keeps the order
	if i == 1 && c.out[0] != nil && (sameWriter(c.Stdout, c.Stderr) || l.files[1].same(&l.files[2])) {
		if file != nil {
			file.Close()
		}
		return unix.FcntlInt(uintptr(l.fds[1]), unix.F_DUPFD_CLOEXEC, 0)
	}
	ours, theirs, err := c.pipe(false)
	if err != nil {
		return -1, err
	}
	if w == nil {
		w = io.Discard
	}
	c.out[i] = newCapture(ours, w, int64(c.Spec.Limits.Output))
	c.out[i].said = c.said
	if file != nil {
		c.out[i].dst, c.out[i].own = file, file
		c.closers = append(c.closers, file) // where nothing is copied
	}
	return theirs, nil
}

func sameWriter(a, b io.Writer) (same bool) {
	defer func() { _ = recover() }() // writers of an uncomparable type are not the same
	return a != nil && a == b
}

func openNull() (int, error) {
	fd, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &spec.Error{Fault: spec.FaultHost, Op: "stdio", Detail: os.DevNull + ": " + err.Error(),
			Remedy: "raise the limit on open files (ulimit -n), or mount a device file system on /dev"}
	}
	return fd, nil
}

// pipe makes a pipe between us and the payload; to says that we write. The payload may open its end again through
// /dev/stdout, so the pipe belongs to its uid.
func (c *Cmd) pipe(to bool) (ours *os.File, theirs int, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, -1, &spec.Error{Fault: spec.FaultHost, Op: "pipe2", Detail: err.Error(),
			Remedy: "raise the limit on open files (ulimit -n)"}
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
		from, end := c.Stdin, func() {}
		if c.stdin != nil {
			w := c.want(in)
			from, end = w, w.close
		}
		// not waited for: a caller's reader may block for ever after the payload has gone
		go func() {
			defer end()
			_, err := io.Copy(in, from)
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

// endStreams ends the copying and the loans, once the jail has ended.
func (c *Cmd) endStreams() {
	for _, o := range c.out {
		if o != nil {
			o.over()
		}
	}
	c.copies.Wait()
	for _, f := range c.closers {
		f.Close()
	}
	if c.stdin != nil { // nothing was copied
		c.stdin.Close()
	}
	c.endLoans()
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
	for i, o := range c.out {
		if o != nil && o.err != nil && !errors.Is(o.err, syscall.EPIPE) {
			errs = append(errs, fmt.Errorf("%s: %w; give it more room", streamNames[i+1], o.err))
		}
	}
	if e := c.stdinErr.Load(); e != nil {
		errs = append(errs, fmt.Errorf("stdin: %w", *e))
	}
	return errors.Join(errs...)
}
