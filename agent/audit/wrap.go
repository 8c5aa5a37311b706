package audit

import (
	"context"

	"brig/nsjail"
)

// Wrap returns an Executor that writes an event before and one after each run of next. A Job whose first event cannot
// be written is refused, with the Layer "audit": next sees it with its Refusal, as any refused one. A result whose
// event cannot be written is returned, with a note; the log is broken then, and the next Job is refused unless it can
// be written again. A Job that comes refused has one event.
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
	if w.log.add(&first) != nil && !refused {
		j.Refuse(Unavailable(RunStart))
		return w.next.Execute(ctx, j)
	}
	r, err := w.next.Execute(ctx, j)
	if refused {
		return r, err
	}
	last := after(j, r, err, w.log.o.Argv)
	if w.log.add(&last) != nil && r != nil {
		r.Notes = append(r.Notes, "the end of this run could not be written to the audit log")
	}
	return r, err
}

// Unavailable is the refusal of an operation whose event could not be written. The cause and the log's path are not in
// it: only the log's owner learns them, through Options.Broken.
func Unavailable(kind string) *nsjail.Refusal {
	return &nsjail.Refusal{Code: "audit_unavailable", Layer: "audit", Rule: kind,
		Message: "this could not be written to the audit log, and nothing happens unrecorded",
		NextSteps: []string{"Send the same request again in a few seconds; nothing has happened.",
			"If it goes on, tell whoever runs this service: the audit log has to be made writable again."}}
}
