package runcmd

import (
	"cmp"

	"brig/cmd/brig/internal/report"
	"brig/cmd/brig/internal/verdict"
)

// conclude tells how a run ended, keeps what it leaves, reports it, and returns the exit code.
func (a *attempt) conclude(r *running, e ended) int {
	w, std := a.wish, a.std
	if e.result != nil {
		w.Caches.Tell(e.result.Enforced)
	}
	code := a.tell(r, &e)
	output := r.cmd.Spec.Limits.Output
	if w.Output.JSON || len(a.out) > 0 {
		report.SetDigest(e.result, w.Spec, output)
	}
	if err := r.runner.Close(); err != nil {
		code = std.Fail(err.Error())
	}
	rep := &report.Report{Result: e.result}
	code = cmp.Or(r.git.bringBack(rep, w.Output.JSON), a.keeper.Keep(r.setUp, rep), code)
	var answer *report.Answer
	if w.Output.JSON {
		answer = report.NewAnswer(rep, int64(output), r.stdout.Bytes(), r.stderr.Bytes())
	}
	return cmp.Or(a.out.Deliver(rep, answer, std), code)
}

// tell prints for a person how a run ended, and returns its exit code. A run that has not started has a result then,
// too.
func (a *attempt) tell(r *running, e *ended) int {
	w, std := a.wish, a.std
	switch {
	case e.err != nil && !e.started:
		e.result = report.Failed(&w.Spec, e.err)
		std.Fail(w.Describe(e.err, std.Words))
		return verdict.StartCode(e.err)
	case e.err != nil:
		return std.Fail(e.err.Error())
	}
	asked := verdict.Run{Limits: &w.Spec.Limits, Wall: r.cmd.Plan().Wall, JSON: w.Output.JSON,
		NetLog: w.Output.NetLog == "-", Host: w.Spec.Rootfs.Path == "", Escaped: r.setUp.Escaped()}
	for _, line := range asked.Lines(e.result, std.Words) {
		std.Say("%s", line)
	}
	return verdict.Code(e.result)
}
