package nsjail

import (
	"context"
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
