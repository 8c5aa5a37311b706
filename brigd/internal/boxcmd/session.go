package boxcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/api"
	"brig/brigd/internal/client"
	"brig/brigd/internal/verbs"
	"brig/brigd/job"
	"brig/internal/sys"
	"brig/internal/terminal"

	"golang.org/x/sys/unix"
)

// session is a person at a process: what they type, their signals, and the size of their terminal go to it.
type session struct {
	*command
	ctx    context.Context
	leave  context.CancelCauseFunc
	screen *terminal.Terminal   // raw while the process runs; nil for none
	tty    bool                 // the process has a terminal
	stays  bool                 // it goes on after the end of this session
	had    *engine.TerminalSize // that of a terminal which others have used: programs draw again at a change
	// path is the process's, once it is known.
	path   atomic.Pointer[string]
	caught chan os.Signal
	left   bool // the person has typed ~.; of who reads the input
}

// binary is the media type of input.
const binary = "application/octet-stream"

// errLeft ends a session by ~.
var errLeft = errors.New("the person has left")

func newSession(ctx context.Context, c *command, t *terminal.Terminal) *session {
	s := &session{command: c, screen: t, caught: make(chan os.Signal, 16)}
	s.ctx, s.leave = context.WithCancelCause(ctx)
	signal.Notify(s.caught, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT)
	if t != nil { // SIGPIPE would end this program before the terminal is restored
		signal.Notify(s.caught, unix.SIGWINCH, unix.SIGCONT, unix.SIGPIPE)
	}
	s.guarded(s.signals)
	return s
}

// end restores the terminal.
func (s *session) end() {
	signal.Stop(s.caught)
	s.leave(nil)
	if s.screen != nil {
		s.screen.Restore()
	}
}

// guarded runs a part of the session on the side. The terminal is restored before a fault of it ends the program.
func (s *session) guarded(part func()) {
	go func() {
		defer func() {
			if fault := recover(); fault != nil {
				if s.screen != nil {
					s.screen.Restore()
				}
				panic(fault)
			}
		}()
		part()
	}()
}

// see shows the output in a stream, passes input and signals on, and returns as the process does.
func (s *session) see(stream io.Reader, all string, to *screens) error {
	ended, err := to.read(stream, func(p *engine.ProcessInfo) {
		path := all + "/" + p.ID
		s.tty = p.TTY != nil
		s.path.Store(&path)
		if s.screen != nil {
			_ = s.screen.Raw() // an error means that it is gone
			if size := sizeOf(s.screen); s.had != nil && *s.had == *size {
				s.tell("resize", engine.TerminalSize{Rows: size.Rows%most + 1, Cols: size.Cols})
			}
			s.resize()
		}
		s.guarded(s.input)
	})
	s.end()
	if err != nil {
		return s.why(err)
	}
	return s.verdict(ended.Result, client.Code(ended.Result))
}

// why returns the reason for the end of the session, if its stream did not end by itself.
func (s *session) why(err error) error {
	switch cause := context.Cause(s.ctx); {
	case errors.Is(cause, errLeft) && s.stays:
		s.say("left; the process goes on")
		return nil
	case errors.Is(cause, errLeft):
		s.say("~. has ended the process")
		return verbs.Exit(exitSignal + int(unix.SIGKILL))
	case errors.As(cause, new(verbs.Exit)):
		return cause
	}
	return err
}

// signals passes the caller's signals on. A second one ends the session, and so does one before there is a process, or
// where the process stays one for a caller who has gone.
func (s *session) signals() {
	passed := false
	for {
		var got os.Signal
		select {
		case got = <-s.caught:
		case <-s.ctx.Done():
			return
		}
		sig := got.(syscall.Signal)
		switch {
		case sig == unix.SIGPIPE || s.path.Load() == nil && (sig == unix.SIGWINCH || sig == unix.SIGCONT):
		case sig == unix.SIGWINCH:
			s.resize()
		case sig == unix.SIGCONT:
			_ = s.screen.Raw() // an error means that it is gone
			s.resize()
		case passed || s.path.Load() == nil || s.stays && (sig == unix.SIGTERM || sig == unix.SIGHUP):
			s.leave(verbs.Exit(exitSignal + int(sig)))
		default:
			passed = true
			s.tell("signal", api.Signal{Signal: strings.TrimPrefix(unix.SignalName(sig), "SIG")})
		}
	}
}

// resize sets the size of the caller's terminal for the process.
func (s *session) resize() { s.tell("resize", sizeOf(s.screen)) }

// tell sends something about the process. If that has ended, or brigd has, the stream tells.
func (s *session) tell(what string, v any) {
	body, err := json.Marshal(v)
	if err == nil {
		_, _ = s.Call(s.ctx, "POST", *s.path.Load()+"/"+what, body, nil)
	}
}

// escapes is what ~? shows.
const escapes = "brigd: at the start of a line ~. ends the session, ~^Z suspends it, ~~ is a tilde, ~? shows this"

// lastKeys is how long what was typed before ~. may take to reach the process.
const lastKeys = time.Second

// escape does what an escape asks for.
func (s *session) escape(c byte) {
	switch c {
	case terminal.End:
		s.left = true
		time.AfterFunc(lastKeys, func() { s.leave(errLeft) })
	case terminal.Stop:
		if s.screen != nil {
			s.screen.Restore() // SIGCONT makes it raw again
		}
		if !terminal.Suspend() && s.screen != nil {
			_ = s.screen.Raw() // an error means that it is gone
		}
	case terminal.Help:
		_, _ = io.WriteString(s.errs, "\r\n"+escapes+"\r\n")
	}
}

// input sends what the caller types or pipes. Somebody else reads it, so that escapes act while the process takes none.
func (s *session) input() {
	in := s.in
	if f, ok := in.(*os.File); ok && sys.IsTerminal(f) {
		in = &terminal.Keys{In: f, Do: s.escape}
	}
	pieces := make(chan []byte, 64)
	s.guarded(func() {
		defer close(pieces)
		for {
			b := make([]byte, 32<<10)
			n, err := in.Read(b)
			if n > 0 {
				select {
				case pieces <- b[:n]:
				case <-s.ctx.Done():
					return
				}
			}
			if err != nil || s.left {
				return
			}
		}
	})
	for b := range pieces {
		var no *job.Refusal
		if err := s.send(b, ""); errors.As(err, &no) && no.Code == "no_stdin" {
			s.say("the process was started without input: what you type does not reach it")
			return
		} else if err != nil {
			return // it has ended: the stream tells
		}
	}
	if s.left {
		s.leave(errLeft)
		return
	}
	if !s.tty { // of a terminal, the end would be a key
		_ = s.send(nil, "?eof=1") // likewise
	}
}

// send sends a piece of input.
func (s *session) send(b []byte, query string) error {
	w, _, err := s.Do(s.ctx, "POST", *s.path.Load()+"/stdin"+query, bytes.NewReader(b), "Content-Type", binary)
	if err != nil {
		return err
	}
	return w.Body.Close()
}

// most is how many rows and columns a terminal of brigd has.
const most = 4096

// sizeOf returns the size for a terminal in a box: that of the caller's, or a usual one.
func sizeOf(t *terminal.Terminal) *engine.TerminalSize {
	size := &engine.TerminalSize{Rows: 24, Cols: 80}
	if t == nil {
		return size
	}
	if w, err := t.Size(); err == nil && w.Row > 0 && w.Col > 0 {
		size.Rows, size.Cols = min(int(w.Row), most), min(int(w.Col), most)
	}
	return size
}
