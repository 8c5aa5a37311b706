package audit

import (
	"context"

	"brig/nsjail"
)

// Wrap gives an Executor that writes an event before and one after each run of next. A Job whose first event cannot be
// written is refused, with the Layer "audit": next sees it with its Refusal, as any refused one. A result whose event cannot
// be written is returned, with a note; the log is broken then, and the next Job is refused unless it can be written again.
// A Job that comes refused has one event.
func Wrap(next nsjail.Executor, l *Log) nsjail.Executor { return &wrapper{next, l} }

type wrapper struct {
	next nsjail.Executor
	log  *Log
}

// Execute is nsjail.Executor's.
func (w *wrapper) Execute(ctx context.Context, j *nsjail.Job) (*nsjail.Result, error) {
	j.WantPlanDigest = true
	refused := j.Verdict.Refusal != nil
	first := before(j, w.log.o.Argv)
	if err := w.log.add(&first); err != nil && !refused {
		j.Refuse(&nsjail.Refusal{Code: "audit_unavailable", Layer: "audit", Rule: "run.start",
			Message: "the run could not be written to the audit log, and nothing runs unrecorded: " + err.Error(),
			NextSteps: []string{"Tell whoever runs this service: the audit log has to be made writable again.",
				"Try again later; nothing has run."}})
		return w.next.Execute(ctx, j)
	}
	r, err := w.next.Execute(ctx, j)
	if refused {
		return r, err
	}
	last := after(j, r, err)
	if failed := w.log.add(&last); failed != nil && r != nil {
		r.Notes = append(r.Notes, "the end of this run could not be written to the audit log: "+failed.Error())
	}
	return r, err
}
