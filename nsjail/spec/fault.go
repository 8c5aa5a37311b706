package spec

import (
	"syscall"

	"brig/internal/words"
)

// Fault is the party that caused an error.
type Fault string

// The parties that can cause an error.
const (
	FaultPayload Fault = "payload" // the program in the jail
	FaultCaller  Fault = "caller"  // the Spec, a flag, an argument
	FaultHost    Fault = "host"    // the machine: a kernel, a setting, a missing package
	FaultBrig    Fault = "brig"    // a defect of this program
)

// Error is why a jail could not be made. If a function other than Wait returns one, no part of the payload has run.
type Error struct {
	Fault  Fault         `json:"fault"`
	Step   int           `json:"step,omitempty"` // the number of the failed step, from 1
	Of     int           `json:"of,omitempty"`   // the number of steps
	Op     string        `json:"op"`             // the label of the step, or the name of the phase
	Detail words.Text    `json:"detail,omitempty"`
	Errno  syscall.Errno `json:"errno,omitempty"`
	Remedy words.Text    `json:"remedy,omitempty"`
}

// Error returns one line: the operation, the cause, the remedy, and the failed step with its call.
func (e *Error) Error() string { return e.Text().String() }

// Text returns the line of Error with its references to fields.
func (e *Error) Text() words.Text { return e.Named(e.Op) }

// Named is words.Text with another name for the operation, such as the flag that requested it.
func (e *Error) Named(name string) words.Text {
	t := words.Plain(name)
	if e.Op == OpExec {
		t = "cannot run " + e.Detail
	}
	if e.Detail != "" && e.Of == 0 {
		t += ": " + e.Detail
	}
	if e.Errno != 0 {
		t += ": " + words.Plain(e.Errno.Error())
	}
	if e.Remedy != "" {
		t += "; " + e.Remedy
	}
	if e.Of == 0 || e.Op == OpExec { // it is always the last step
		return t
	}
	t += words.Textf(" (step %d of %d", e.Step, e.Of)
	if name != e.Op { // explain numbers its steps under the labels of the plan
		t += ", " + words.Plain(e.Op)
	}
	if e.Detail != "" {
		t += ": " + e.Detail
	}
	return t + ")"
}

// OpExec is the label of the steps that execute the command.
const OpExec = "exec"

// Unwrap returns the errno, so that errors.Is(err, os.ErrPermission) works.
func (e *Error) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// Problem is an invalid value in a Spec.
type Problem struct {
	Path   string     `json:"path"`   // the JSON path: "mounts[2].target"
	Reason string     `json:"reason"` // what is wrong, with the value
	Fix    words.Text `json:"fix"`    // what to write instead
}

// Error returns the problem as one line.
func (p Problem) Error() string { return p.Text().String() }

// Text returns the line of Error with its references to fields.
func (p Problem) Text() words.Text { return words.Plain(p.Path+": "+p.Reason) + "; " + p.Fix }

// AsError returns the problem as an Error with FaultCaller.
func (p Problem) AsError() error {
	return CallerError(p.Path, p.Reason, p.Fix)
}

// CallerError returns an Error that the caller can mend.
func CallerError[D, R ~string](op string, detail D, remedy R) *Error {
	return &Error{Fault: FaultCaller, Op: op, Detail: words.TextOf(detail), Remedy: words.TextOf(remedy)}
}

// HostError returns an Error that lies with the machine.
func HostError[D, R ~string](op string, detail D, remedy R) *Error {
	return &Error{Fault: FaultHost, Op: op, Detail: words.TextOf(detail), Remedy: words.TextOf(remedy)}
}
