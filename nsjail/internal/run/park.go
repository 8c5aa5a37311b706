package run

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"brig/internal/sys"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// Ready is the byte that a parked payload writes to its standard output when it is ready: ACK, ascii(7).
const Ready = 6

// mostDropped bounds the messages that AwaitReady reads: a pipe holds 64 KiB (pipe(7)).
const mostDropped = 64 << 10

// AwaitReady waits until a payload has written Ready. All its streams must be pipes, and Start must not have been
// called. What the payload has written to stderr until then is dropped. If it ends, writes anything else or takes
// longer than most, the error has its last line of stderr.
func (s *Streams) AwaitReady(most time.Duration) error { return s.out.awaitReady(most) }

func (o *outputs) awaitReady(most time.Duration) error {
	var b [1]byte
	ready := o.of[0].src
	err := ready.SetReadDeadline(time.Now().Add(most))
	if err == nil {
		_, err = ready.Read(b[:])
	}
	messages, merr := o.messages()
	switch {
	case errors.Is(err, io.EOF):
		err = errors.New("it has ended")
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("it is not ready after %s", most)
	case err == nil && b[0] != Ready:
		err = errors.New("it has written to stdout")
	}
	if err = errors.Join(err, merr); err == nil {
		return ready.SetReadDeadline(time.Time{})
	}
	lines := bytes.Split(bytes.TrimSpace(messages), []byte("\n"))
	if last := lines[len(lines)-1]; len(last) > 0 {
		err = fmt.Errorf("%w: %s", err, words.Clip(words.Printable(string(last)), 300))
	}
	return err
}

// messages returns what stderr holds at present.
func (o *outputs) messages() (text []byte, err error) {
	buf := make([]byte, mostDropped)
	err = sys.Control(o.of[1].src, func(fd int) error {
		for len(text) < mostDropped {
			n, err := unix.Read(fd, buf[len(text):])
			if n <= 0 {
				return err
			}
			text = buf[:len(text)+n]
		}
		return nil
	})
	if err == unix.EAGAIN {
		err = nil
	}
	return text, err
}

// Silent reports whether the payload of a parked jail has written nothing and has all of its streams open.
func (s *Streams) Silent() bool {
	return sys.Idle(s.in.to, 0) && sys.Idle(s.out.of[0].src, unix.POLLIN) && sys.Idle(s.out.of[1].src, unix.POLLIN)
}

// CanTake reports whether the payload would have the same streams without a parked jail: pipes that the keeper copies.
func (s *Streams) CanTake() bool {
	for _, stream := range []any{s.In, s.Out[0], s.Out[1]} {
		if _, file := stream.(*os.File); file {
			return false
		}
	}
	return !s.TTY && !sameWriter(s.Out[0], s.Out[1])
}

// Take takes the streams of a parked jail over, instead of Open. Start writes first to stdin, before In.
func (s *Streams) Take(parked *Streams, first []byte) {
	s.in.to, s.closers, s.in.first, s.in.took = parked.in.to, parked.closers, first, make(chan bool, 1)
	if s.In == nil {
		s.In = bytes.NewReader(nil)
	}
	for i, o := range parked.out.of {
		s.out.of[i] = s.capture(o.src, s.Out[i])
	}
}

// TookFirst reports whether all was written that Take has passed to Start. It must be called once, after End.
func (s *Streams) TookFirst() bool { return <-s.in.took }
