package nsjail

import (
	"errors"

	"brig/denial"
	"brig/internal/words"
	"brig/nsjail/spec"
)

// ErrNotFound and ErrNotExecutable are reasons why the command could not be started, for errors.Is.
var (
	ErrNotFound      = errors.New("command not found in the jail")
	ErrNotExecutable = errors.New("command not executable in the jail")
)

// ExecError means that the command could not be executed in the jail.
type ExecError struct {
	Cause *spec.Error
	Kind  error // ErrNotFound or ErrNotExecutable
	// OfHost reports that Cause.Remedy tells what the keeper's machine has, which is for its own user only.
	OfHost bool
}

// Error returns the message of Cause.
func (e *ExecError) Error() string { return e.Cause.Error() }

// Is reports whether target is Kind.
func (e *ExecError) Is(target error) bool { return target == e.Kind }

// Unwrap returns Cause.
func (e *ExecError) Unwrap() error { return e.Cause }

// Denial returns the error as an entry of Result.Denials.
func (e *ExecError) Denial() denial.Denial {
	return denial.Denial{Layer: denial.LayerExec, Name: e.Cause.Detail.String(), Count: 1,
		Why: words.Plain(e.Cause.Errno.Error()),
		Fix: e.Cause.Remedy}
}
