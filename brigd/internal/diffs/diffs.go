// Package diffs shows change sets to callers, within bounds.
package diffs

import (
	"fmt"

	"brig/brigd/job"
	"brig/changes"
)

// most is the largest diff, in bytes.
const most = 16 << 20

// Of returns what a set changes, as git-diff(1) writes it.
func Of(s *changes.Set, o *changes.DiffOptions) ([]byte, error) {
	out := &limited{most: most}
	err := s.Diff(out, o)
	if out.full() {
		return nil, &job.Refusal{Layer: "request", Code: "too_large", Rule: "path",
			Message:   fmt.Sprintf("the diff has more than %d bytes", most),
			NextSteps: []string{"Name files or directories in path."}}
	}
	return out.text, err
}
