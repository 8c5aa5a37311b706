package isolate

import (
	"context"
	"errors"
	"fmt"

	"brig/gitview"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// views shows git directories in what --dir shares for writing as copies, and protects what git executes there: the
// caller's git must not do what the program has written. It returns nil if nothing is shared.
func (r *running) views(ctx context.Context, j *job) (*gitview.View, error) {
	if !j.shared {
		return nil, nil
	}
	j.spec.Protect = []string{spec.ProtectGit}
	v, err := gitview.Prepare(ctx, &j.spec)
	if e, ok := errors.AsType[*nsjail.Error](err); ok {
		return nil, errors.New(r.named(e))
	}
	if v != nil {
		j.spec = v.Spec
	}
	for _, note := range v.Notes() {
		if !r.tell.Silent {
			_, _ = fmt.Fprintln(r.tell.std.Err, note)
		}
	}
	return v, err
}

// bringBack brings back what the program has written there, as far as it is data, and prints what stays behind.
func (r *running) bringBack(v *gitview.View, result *nsjail.Result) (err error) {
	for _, report := range v.BringBack(result) {
		for _, line := range report.Lines() {
			if !r.tell.Silent {
				_, _ = fmt.Fprintln(r.tell.std.Err, line)
			}
		}
		if report.Error != "" {
			err = errors.New(report.Lines()[0].String())
		}
	}
	return errors.Join(err, v.Close())
}
