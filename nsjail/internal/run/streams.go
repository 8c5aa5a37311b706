package run

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Streams manages a payload's stdin, stdout and stderr. Set the exported fields before Open. Call the methods in the
// order Open, Start or Attach, End, Counts.
type Streams struct {
	In       io.Reader    // nil: /dev/null
	Out      [2]io.Writer // stdout, stderr; nil: dropped
	Terminal func(*os.File)
	TTY      bool  // the payload has a terminal, which Attach connects
	Keep     int64 // bytes to keep of each output stream, its head and tail; 0: all
	Read     Reading
	Count    func(n int) int // called with the size of each piece of output; returns how much of it may pass
	Chown    bool            // UID and GID are the payload's host ids, which are not the caller's
	UID, GID int
	Seat     bool // the payload may have a terminal of its own in place of the caller's, with init's help
	Same     bool // for tests: the payload gets the caller's open file descriptions

	fds     []int // the payload's streams that are open
	files   [3]lent
	loans   []loan   // of the caller's files, to be restored
	file    *os.File // the file to copy to stdin, if any
	copyIn  *os.File // the keeper's end of stdin's pipe
	out     [2]*capture
	desk    *desk       // nil: no stream is the caller's controlling terminal
	seated  int         // how many streams are the desk's
	screen  *capture    // from the desk
	closers []io.Closer // the keeper's ends of pipes
	copies  sync.WaitGroup
	inErr   atomic.Pointer[error]
	first   []byte    // what stdin begins with, before In
	took    chan bool // receives whether first was written; nil without
}

// Given is a file that the payload gets itself, with its open file description (open(2)): it may move the offset,
// change the flags and truncate it. The caller has opened it for the payload alone.
type Given struct{ *os.File }

// give duplicates a given file as the next stream. It returns -1 for any other reader or writer.
func give(s any) (int, error) {
	g, ok := s.(*Given)
	if !ok || g == nil {
		return -1, nil
	}
	return unix.FcntlInt(g.Fd(), unix.F_DUPFD_CLOEXEC, 0)
}

// Open returns the three descriptors for the payload's stdin, stdout and stderr. They are the caller's files, opened
// again, if that is possible and the keeper need not read or bound the stream. Otherwise they are pipes that the keeper
// copies. A stream that is not set is /dev/null. On error, Open returns the descriptors that are already open.
func (s *Streams) Open() ([]int, error) {
	s.fds = make([]int, 0, 3)
	for i := range streamNames {
		fd, err := s.open(i)
		if err != nil {
			return s.fds, err
		}
		s.fds = append(s.fds, fd)
	}
	return s.fds, nil
}

// open opens stream i, after those before it.
func (s *Streams) open(i int) (int, error) {
	if i > 0 && !s.TTY {
		return s.output(i - 1)
	}
	switch {
	case s.Read == Pipes && s.Null()[i]:
		return -1, nil
	case s.TTY || s.In == nil: // a terminal replaces all three
		return OpenNull()
	case s.Read == Pipes:
		ours, theirs, err := s.pipe(true)
		s.copyIn = ours
		return theirs, err
	}
	if fd, err := give(s.In); fd >= 0 || err != nil {
		return fd, err
	}
	if f, ok := s.In.(*os.File); ok && f != nil {
		if fd, err := s.lend(f); fd >= 0 || err != nil {
			return fd, err
		}
		s.file = s.files[0].copied
	}
	ours, theirs, err := s.pipe(true)
	s.copyIn = ours
	return theirs, err
}

// output opens stdout (0) or stderr (1).
func (s *Streams) output(i int) (int, error) {
	w := s.Out[i]
	if s.Read == Pipes && w == nil {
		return -1, nil
	}
	if s.Read == Lends {
		if w == nil {
			return OpenNull()
		}
		if fd, err := give(w); fd >= 0 || err != nil {
			return fd, err
		}
		if f, ok := w.(*os.File); ok && f != nil {
			if fd, err := s.lend(f); fd >= 0 || err != nil {
				return fd, err
			}
		}
	}
	file := s.files[i+1].copied
	// one pipe preserves the order
	if i == 1 && s.out[0] != nil && (sameWriter(s.Out[0], s.Out[1]) || s.files[1].same(&s.files[2])) {
		if file != nil {
			file.Close()
		}
		return unix.FcntlInt(uintptr(s.fds[1]), unix.F_DUPFD_CLOEXEC, 0)
	}
	ours, theirs, err := s.pipe(false)
	if err != nil {
		return -1, err
	}
	s.out[i] = s.capture(ours, w)
	if file != nil {
		s.out[i].dst, s.out[i].own = file, file
		s.closers = append(s.closers, file) // in case nothing is copied
	}
	return theirs, nil
}

// capture returns a copy from a file to a writer; nil means that the bytes are only counted.
func (s *Streams) capture(src *os.File, dst io.Writer) *capture {
	return &capture{src: src, dst: cmp.Or(dst, io.Discard), limit: s.Keep, count: s.Count}
}

func sameWriter(a, b io.Writer) (same bool) {
	defer func() { _ = recover() }() // comparing writers of an uncomparable type panics; they count as different
	return a != nil && a == b
}

// OpenNull opens /dev/null for reading and writing.
func OpenNull() (int, error) {
	fd, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, spec.HostError("stdio", os.DevNull+": "+err.Error(),
			"raise the limit on open files (ulimit -n), or mount a device file system on /dev")
	}
	return fd, nil
}

// pipe creates a pipe between the keeper and the payload. The keeper writes if to is true. The payload's uid owns its
// end, because the payload may open it again through /dev/stdout.
func (s *Streams) pipe(to bool) (ours *os.File, theirs int, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, -1, spec.HostError("pipe2", err.Error(), "raise the limit on open files (ulimit -n)")
	}
	mine, other := p[0], p[1]
	if to {
		mine, other = p[1], p[0]
	}
	if s.Chown {
		err = unix.Fchown(other, s.UID, s.GID)
	}
	if err = errors.Join(err, unix.SetNonblock(mine, true)); err != nil {
		unix.Close(p[0])
		unix.Close(p[1])
		return nil, -1, err
	}
	ours = os.NewFile(uintptr(mine), "pipe")
	s.closers = append(s.closers, ours)
	return ours, other, nil
}

// Start begins to copy when the payload runs. pidfd is the jail's: copying a file to stdin stops when the jail ends.
func (s *Streams) Start(pidfd *os.File) {
	if in := s.copyIn; in != nil {
		from, end := s.In, func() {}
		if s.file != nil {
			w := newWanted(s.file, in, pidfd)
			s.file = nil
			from, end = w, w.close
		}
		// End does not wait for it: the caller's reader may block forever after the end of the payload
		go func() {
			defer end()
			var err error
			if s.took != nil {
				_, err = in.Write(s.first)
				s.took <- err == nil
			}
			if err == nil {
				_, err = io.Copy(in, from)
			}
			if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, fs.ErrClosed) {
				s.inErr.Store(&err)
			}
			in.Close()
		}()
	}
	for _, o := range s.out {
		if o != nil {
			s.copies.Go(o.copy)
		}
	}
	if s.desk != nil {
		s.desk.start(s, pidfd)
	}
}

// Attach connects the master side of the payload's terminal.
func (s *Streams) Attach(m *os.File) {
	s.closers = append(s.closers, m)
	if s.Terminal != nil {
		s.Terminal(m)
	}
	s.copyIn = nil
	if s.In != nil {
		go func() {
			if _, err := io.Copy(m, s.In); err == nil {
				_, _ = m.Write([]byte{4}) // a terminal marks the end of file by a character: termios(3) VEOF
			}
		}()
	}
	s.out[0] = s.capture(m, s.Out[0])
}

// End finishes the copies and restores the caller's files after the end of the jail.
func (s *Streams) End() {
	for _, o := range []*capture{s.out[0], s.out[1], s.screen} {
		if o != nil {
			o.over()
		}
	}
	s.copies.Wait()
	if s.desk != nil {
		s.desk.end()
	}
	for _, o := range s.out {
		if o != nil && s.Read == Pipes {
			o.readOn()
		}
	}
	for _, f := range s.closers {
		f.Close()
	}
	if s.file != nil { // nothing was copied
		s.file.Close()
	}
	s.endLoans()
}

// Counts returns, for stdout and stderr, the bytes that the keeper has read and those that Keep has dropped.
func (s *Streams) Counts() (bytes, dropped [2]int64) {
	for i, o := range s.out {
		if o != nil {
			bytes[i], dropped[i] = o.total, o.dropped()
		}
	}
	return bytes, dropped
}

// Err returns the errors of copying from or to the caller.
func (s *Streams) Err() error {
	var errs []error
	for i, o := range s.out {
		if o != nil && o.err != nil && !errors.Is(o.err, syscall.EPIPE) {
			errs = append(errs, fmt.Errorf("%s: %w; give it more room", streamNames[i+1], o.err))
		}
	}
	if e := s.inErr.Load(); e != nil {
		errs = append(errs, fmt.Errorf("stdin: %w", *e))
	}
	return errors.Join(errs...)
}
