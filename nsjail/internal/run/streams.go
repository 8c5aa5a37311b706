package run

import (
	"cmp"
	"errors"
	"io"
	"os"

	"brig/nsjail/internal/desk"
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
	Owner    Owner
	Seat     bool // the payload may have a terminal of its own in place of the caller's, with init's help
	Same     bool // for tests: the payload gets the caller's open file descriptions

	files   lender
	in      feed
	out     outputs
	closers []io.Closer // the keeper's ends of pipes
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
func (s *Streams) Open() (fds []int, err error) {
	s.files = lender{owner: s.Owner, seats: s.Seat, same: s.Same}
	fds = make([]int, 0, 3)
	for i := range streamNames {
		fd, err := s.open(i, fds)
		if err != nil {
			return fds, err
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

// open opens stream i, after those before it.
func (s *Streams) open(i int, before []int) (int, error) {
	if i > 0 && !s.TTY {
		return s.output(i-1, before)
	}
	switch {
	case s.Read == Pipes && s.Null()[i]:
		return -1, nil
	case s.TTY || s.In == nil: // a terminal replaces all three
		return OpenNull()
	case s.Read == Pipes:
		return s.input()
	}
	if fd, err := give(s.In); fd >= 0 || err != nil {
		return fd, err
	}
	if f, ok := s.In.(*os.File); ok && f != nil {
		fd, copied, err := s.files.lend(0, f)
		if fd >= 0 || err != nil {
			return fd, err
		}
		s.in.file = copied
	}
	return s.input()
}

// input opens stdin as a pipe.
func (s *Streams) input() (theirs int, err error) {
	s.in.to, theirs, err = s.pipe(true)
	return theirs, err
}

// output opens stdout (0) or stderr (1).
func (s *Streams) output(i int, before []int) (int, error) {
	w := s.Out[i]
	if s.Read == Pipes && w == nil {
		return -1, nil
	}
	var file *os.File
	if s.Read == Lends {
		if w == nil {
			return OpenNull()
		}
		if fd, err := give(w); fd >= 0 || err != nil {
			return fd, err
		}
		if f, ok := w.(*os.File); ok && f != nil {
			fd, copied, err := s.files.lend(i+1, f)
			if fd >= 0 || err != nil {
				return fd, err
			}
			file = copied
		}
	}
	// one pipe preserves the order
	if i == 1 && s.out.of[0] != nil && (sameWriter(s.Out[0], s.Out[1]) || s.files.oneFile(1, 2)) {
		if file != nil {
			file.Close()
		}
		return unix.FcntlInt(uintptr(before[1]), unix.F_DUPFD_CLOEXEC, 0)
	}
	ours, theirs, err := s.pipe(false)
	if err != nil {
		return -1, err
	}
	s.out.of[i] = s.capture(ours, w)
	if file != nil {
		s.out.of[i].dst, s.out.of[i].own = file, file
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
	if err := errors.Join(s.Owner.own(other), unix.SetNonblock(mine, true)); err != nil {
		unix.Close(p[0])
		unix.Close(p[1])
		return nil, -1, err
	}
	ours = os.NewFile(uintptr(mine), "pipe")
	s.closers = append(s.closers, ours)
	return ours, other, nil
}

// Start begins to copy when the payload runs. pidfd is the jail's.
func (s *Streams) Start(pidfd *os.File) {
	s.in.start(s.In, pidfd)
	if d := s.Desk(); d != nil {
		from, to := d.Start(pidfd, s.files.alone())
		s.out.screen = &capture{src: from, dst: to}
	}
	s.out.start()
}

// Attach connects the master side of the payload's terminal.
func (s *Streams) Attach(m *os.File) {
	s.closers = append(s.closers, m)
	if s.Terminal != nil {
		s.Terminal(m)
	}
	if s.In != nil {
		go typeTo(m, s.In)
	}
	s.out.of[0] = s.capture(m, s.Out[0])
}

// Desk returns the payload's terminal in place of the caller's, or nil.
func (s *Streams) Desk() *desk.Desk { return s.files.desk }

// End finishes the copies and restores the caller's files after the end of the jail.
func (s *Streams) End() {
	s.out.end()
	s.Desk().End()
	if s.Read == Pipes {
		s.out.readOn()
	}
	for _, f := range s.closers {
		f.Close()
	}
	s.in.end()
	s.files.loans.end()
}

// Counts returns, for stdout and stderr, the bytes that the keeper has read and those that Keep has dropped.
func (s *Streams) Counts() (bytes, dropped [2]int64) { return s.out.counts() }

// Err returns the errors of copying from or to the caller.
func (s *Streams) Err() error { return errors.Join(s.out.failure(), s.in.failure()) }
