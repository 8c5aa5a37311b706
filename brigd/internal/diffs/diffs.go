// Package diffs shows change sets to callers, within bounds.
package diffs

import (
	"context"
	"errors"
	"fmt"

	"brig/brigd/internal/admit"
	"brig/brigd/job"
	"brig/changes"
)

const (
	most    = 16 << 20 // bytes of a diff
	waiting = 64       // requests of all callers
)

// Desk lets one request at a time read a change set, to show or to apply it, since each may hold all names of a large
// set in memory. Another of the same caller may wait, and callers take turns.
type Desk struct{ gate *admit.Gate }

// New returns a Desk.
func New() *Desk {
	return &Desk{admit.New(admit.Options{Running: 1, PerCaller: 1, Queue: waiting, QueuePerCaller: 1})}
}

// Enter waits until a request of a caller may read a set, or the context ends. The caller must call leave afterwards.
func (d *Desk) Enter(ctx context.Context, caller string) (leave func(), err error) {
	leave, err = d.gate.Enter(ctx, caller)
	if no, ok := errors.AsType[*admit.Rejected](err); ok {
		return nil, &admit.Rejected{RetryAfter: no.RetryAfter, Refusal: &job.Refusal{Layer: no.Refusal.Layer,
			Code: no.Refusal.Code, Rule: "changes", Message: "as many diffs and applies wait as may wait",
			NextSteps: []string{no.Refusal.NextSteps[0], "or let your earlier one end"}}}
	}
	return leave, err
}

// Of returns what a set changes, as git-diff(1) writes it. It makes no more of it when the context ends.
func Of(ctx context.Context, s *changes.Set, o *changes.DiffOptions) ([]byte, error) {
	out := &limited{ctx: ctx, most: most}
	err := s.Diff(out, o)
	if out.full() {
		return nil, &job.Refusal{Layer: "request", Code: "too_large", Rule: "path",
			Message:   fmt.Sprintf("the diff has more than %d bytes", most),
			NextSteps: []string{"Name files or directories in path."}}
	}
	return out.text, err
}
