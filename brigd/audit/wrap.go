package audit

import (
	"context"

	"brig/brigd/job"
	"brig/nsjail"
)

// Wrap returns an Executor that writes an event before and after each run of next. If the first event cannot be
// written, the Job is refused with Layer "audit", and next gets it with its Refusal like any refused Job. If the second
// event cannot be written, the result is returned with a note. The next Job is then refused, unless the log can be
// written again. A Job that was refused before has only one event.
func Wrap(next job.Executor, l *Log) job.Executor { return &wrapper{next, l} }

type wrapper struct {
	next job.Executor
	log  *Log
}

// Execute implements job.Executor.
func (w *wrapper) Execute(ctx context.Context, j *job.Job) (*nsjail.Result, error) {
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

// Unavailable returns the Refusal of an operation whose event could not be written. It does not contain the cause or
// the log's path: Options.Broken reports these to the log's owner only.
func Unavailable(kind string) *job.Refusal {
	return &job.Refusal{Code: "audit_unavailable", Layer: "audit", Rule: kind,
		Message: "this could not be written to the audit log, and nothing happens unrecorded",
		NextSteps: []string{"Send the same request again in a few seconds; nothing has happened.",
			"If it goes on, tell whoever runs this service: the audit log has to be made writable again."}}
}
