package host

import (
	"errors"

	"brig/internal/words"
	"brig/nsjail/spec"
)

// sourceError returns the error for the path of a source.
func sourceError[R ~string](id SourceID, path string, err error, remedy R) error {
	return fieldError(id.String(), path, err, remedy)
}

// fieldError returns the error for a path of the host that a field of the Spec names.
func fieldError[R ~string](field, path string, err error, remedy R) error {
	e := &spec.Error{Fault: spec.FaultCaller, Op: field, Detail: words.Plain(words.Quote(path)),
		Remedy: words.TextOf(remedy)}
	if !errors.As(err, &e.Errno) {
		e.Detail += ": " + words.Plain(err.Error())
	}
	return e
}

// breakLink returns the command that makes a file of its own of a second name.
func breakLink(path string) string {
	own, other := words.Shell(path), words.Shell(path+".new")
	return "break the link: cp -p " + own + " " + other + " && mv " + other + " " + own
}
