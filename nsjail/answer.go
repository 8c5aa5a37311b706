package nsjail

import (
	"context"
	"errors"
	"time"

	"brig/nsjail/internal/host"
)

// Answer returns an error if the file system of a writable mount's source, or one below it, is another process's or
// machine's and does not answer in the time that a start has. A program that reads the sources before it starts a jail
// asks first: such a call cannot be ended.
func Answer(ctx context.Context, s *Spec) error {
	var until time.Time
	if wall := time.Duration(s.Limits.Wall); wall > 0 {
		until = time.Now().Add(wall)
	}
	return host.Answer(ctx, until, s)
}

// AnswerFile returns an error if the file system of a file is another process's or machine's and does not answer in the
// time that a start has. A program asks before it opens a file that its user has named: a signal does not end open(2).
func AnswerFile(path string) error {
	if e, silent := errors.AsType[*Error](host.AnswerFile("", path)); silent {
		return errors.New((e.Detail + "; " + e.Remedy).String())
	}
	return nil
}
