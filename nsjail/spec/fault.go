package spec

import (
	"fmt"
	"strings"
	"syscall"
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
	Detail string        `json:"detail,omitempty"`
	Errno  syscall.Errno `json:"errno,omitempty"`
	Remedy string        `json:"remedy,omitempty"`
}

// Error returns one line: the operation, the cause, the remedy, and the failed step with its call.
func (e *Error) Error() string { return e.Named(e.Op) }

// Named returns the line of Error with another name for the operation, such as the flag that requested it.
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
	if e.Of == 0 || e.Op == OpExec { // it is always the last step
		return b.String()
	}
	fmt.Fprintf(&b, " (step %d of %d", e.Step, e.Of)
	if name != e.Op { // explain numbers its steps under the labels of the plan
		b.WriteString(", " + e.Op)
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	return b.String() + ")"
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
	Path   string `json:"path"`   // the JSON path: "mounts[2].target"
	Reason string `json:"reason"` // what is wrong, with the value
	Fix    string `json:"fix"`    // what to write instead
}

// Error returns the problem as one line.
func (p Problem) Error() string { return p.Path + ": " + p.Reason + "; " + p.Fix }

// AsError returns the problem as an Error with FaultCaller.
func (p Problem) AsError() error {
	return &Error{Fault: FaultCaller, Op: p.Path, Detail: p.Reason, Remedy: p.Fix}
}

// CallerError returns an Error that the caller can mend.
func CallerError(op, detail, remedy string) *Error {
	return &Error{Fault: FaultCaller, Op: op, Detail: detail, Remedy: remedy}
}

// HostError returns an Error that lies with the machine.
func HostError(op, detail, remedy string) *Error {
	return &Error{Fault: FaultHost, Op: op, Detail: detail, Remedy: remedy}
}
