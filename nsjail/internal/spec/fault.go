package spec

import (
	"fmt"
	"strings"
	"syscall"
)

// Fault says whose doing an error is.
type Fault string

// The parties that can be at fault.
const (
	FaultPayload Fault = "payload" // the program in the jail
	FaultCaller  Fault = "caller"  // the Spec, a flag, an argument
	FaultHost    Fault = "host"    // the machine: a kernel, a setting, a missing package
	FaultBrig    Fault = "brig"    // a defect of this program
)

// Error is why a jail could not be made. Nothing of the payload has run when a function returns one, but for Wait's.
type Error struct {
	Fault  Fault         `json:"fault"`
	Step   int           `json:"step,omitempty"` // the failing step, from 1
	Of     int           `json:"of,omitempty"`   // how many steps there are
	Op     string        `json:"op"`             // the label of the step, or the name of the phase
	Detail string        `json:"detail,omitempty"`
	Errno  syscall.Errno `json:"errno,omitempty"`
	Remedy string        `json:"remedy,omitempty"`
}

// Error is one line: operation, cause, remedy, and the failing step with its call.
func (e *Error) Error() string { return e.Named(e.Op) }

// Named is the line of Error with another name for the operation, such as the flag that asked for it.
func (e *Error) Named(name string) string {
	var b strings.Builder
	if e.Op == OpExec {
		name = "cannot run " + e.Detail
	}
	b.WriteString(name)
	if e.Detail != "" && e.Of == 0 {
		b.WriteString(": " + e.Detail)
	}
	if e.Errno != 0 {
		b.WriteString(": " + e.Errno.Error())
	}
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	if e.Of == 0 || e.Op == OpExec { // that is always the last step
		return b.String()
	}
	fmt.Fprintf(&b, " (step %d of %d", e.Step, e.Of)
	if name != e.Op { // explain numbers its steps under the plan's own labels
		b.WriteString(", " + e.Op)
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	return b.String() + ")"
}

// OpExec is the label of the steps that try to start the command.
const OpExec = "exec"

// Unwrap gives the errno, so that errors.Is(err, os.ErrPermission) works.
func (e *Error) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// Problem is one thing that is wrong with a Spec.
type Problem struct {
	Path   string `json:"path"`   // where, as a JSON path: "mounts[2].target"
	Reason string `json:"reason"` // what is wrong, with the value
	Fix    string `json:"fix"`    // what to write instead
}

// Error is one line.
func (p Problem) Error() string { return p.Path + ": " + p.Reason + "; " + p.Fix }

// AsError returns the problem as the caller's error.
func (p Problem) AsError() error {
	return &Error{Fault: FaultCaller, Op: p.Path, Detail: p.Reason, Remedy: p.Fix}
}
