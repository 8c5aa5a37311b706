package boxcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"brig/brigd/engine"
	"brig/brigd/internal/api"
	"brig/brigd/internal/verbs"
	"brig/denial"
	"brig/internal/sys"
	"brig/internal/text"
	"brig/nsjail"
)

// ndjson asks for a stream of events.
const ndjson = "application/x-ndjson"

// screens are where the output of a process goes.
type screens struct {
	*command
	filters [2]*text.Filter // for stdout and stderr; nil where nothing is to be cleaned
}

// screens returns them. What goes to a terminal is cleaned, unless the process has that terminal for its own.
func (c *command) screens(own bool) *screens {
	s := &screens{command: c}
	for i, w := range []io.Writer{c.out, c.errs} {
		if f, ok := w.(*os.File); ok && !own && sys.IsTerminal(f) {
			s.filters[i] = text.New(w, text.Options{StripAll: true})
		}
	}
	return s
}

// write writes a piece of a stream.
func (s *screens) write(stream, data string) error {
	i, to := 0, s.out
	if stream == "stderr" {
		i, to = 1, s.errs
	}
	if f := s.filters[i]; f != nil {
		to = f
	}
	if _, err := io.WriteString(to, data); err != nil {
		return fmt.Errorf("cannot write the output: %w", err)
	}
	return nil
}

// end writes what was held back.
func (s *screens) end() (err error) {
	for _, f := range s.filters {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// read writes the output in a stream of events until that ends. begun is called with the process, once.
func (s *screens) read(from io.Reader, begun func(*engine.ProcessInfo)) (ended *engine.ProcessInfo, err error) {
	in := json.NewDecoder(from)
	for {
		var e api.ProcessEvent
		switch err := in.Decode(&e); {
		case errors.Is(err, io.EOF):
			return nil, errors.New("brigd has ended the stream, and maybe the process; brigd box ps tells")
		case err != nil:
			return nil, fmt.Errorf("the stream of brigd has broken off: %w", err)
		}
		switch e.Type {
		case "start":
			begun(e.Process)
		case "stdout", "stderr":
			err = s.write(e.Type, e.Data)
		case "dropped":
			s.dropped(e.Dropped)
		case "end":
			return e.Process, s.end()
		}
		if err != nil {
			return nil, err
		}
	}
}

// dropped tells that a part of the output is not kept any more.
func (c *command) dropped(n int64) {
	if n > 0 {
		c.say("%d bytes before this are not kept any more", n)
	}
}

// verdict tells what the exit code cannot express, and returns that code.
func (c *command) verdict(a *engine.Response, code int) error {
	switch nsjail.Status(a.Status) {
	case nsjail.StatusOK, nsjail.StatusFailed:
	case nsjail.StatusSignal:
		c.say("%s ended the process", a.Signal)
	case nsjail.StatusCancelled:
		c.say("the process was ended from outside")
	case nsjail.StatusViolation:
		c.say("the system-call filter ended the process")
	default:
		c.say("the process has met its limit: %s", strings.Join(a.LimitsHit, ", "))
	}
	if line := denial.Line(a.Denials).String(); line != "" && a.Status != string(nsjail.StatusOK) {
		c.say("%s", line)
	}
	if code < 0 {
		return fmt.Errorf("how the process ended is not known: %s", a.Status)
	}
	if code > 0 {
		return verbs.Exit(code)
	}
	return nil
}
