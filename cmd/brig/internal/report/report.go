// Package report is what brig run tells a program about a run: the report, the answer of --json, and where they go.
package report

import (
	"errors"
	"slices"

	"brig/cache"
	"brig/changes"
	"brig/cmd/brig/internal/console"
	"brig/denial"
	"brig/gitview"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// Report is the report of run: the Result, where the changes of its --cow are, and the image of its --commit.
type Report struct {
	*nsjail.Result
	Changes []Kept     `json:"changes,omitempty"`
	Commit  *Committed `json:"commit,omitempty"`
	// Git has an entry for each git directory in which the payload has written.
	Git []*gitview.Report `json:"git,omitempty"`
	// Caches has an entry for each --cache.
	Caches []cache.Report `json:"caches,omitempty"`
}

// Kept is a change set in the report.
type Kept struct {
	ID     string       `json:"id,omitempty"` // "" if there is nothing that a set can hold
	Dir    changes.Name `json:"dir"`
	Target changes.Name `json:"target"`
	changes.Counts
	LeftOut   []changes.Refused `json:"left_out,omitempty"`
	Applied   bool              `json:"applied,omitempty"` // by --apply-if-ok: the set is gone
	Stayed    []changes.Stayed  `json:"stayed_behind,omitempty"`
	CaptureUS int64             `json:"capture_us"` // what the comparison took after the run
}

// Committed is the image of --commit in the report.
type Committed struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	Bytes  int64  `json:"bytes"` // in the files of its last layer
}

// Failed returns the result of a run that did not begin.
func Failed(asked *nsjail.Spec, err error) *nsjail.Result {
	r := &nsjail.Result{Status: nsjail.StatusError, ExitCode: -1, Usage: nsjail.NoUsage(), SpecDigest: asked.Digest()}
	if !errors.As(err, &r.Error) {
		r.Error = &nsjail.Error{Fault: spec.FaultBrig, Op: "run", Detail: words.Message(err)}
	}
	if exec, ok := errors.AsType[*nsjail.ExecError](err); ok {
		r.Denials = []denial.Denial{exec.Denial()}
	}
	return r
}

// SetDigest sets the digest of the Spec that was asked for, which has no views of git directories.
func SetDigest(result *nsjail.Result, asked nsjail.Spec, output nsjail.Bytes) {
	if result.SpecDigest == "" {
		asked.Limits.Output = output
		result.SpecDigest = asked.Digest()
	}
}

// worded puts flags for the fields that a report refers to.
func (r *Report) worded(in words.Dialect) {
	shown := *r.Result
	shown.Enforced, shown.Notes = console.WordedAll(shown.Enforced, in), console.WordedEach(shown.Notes, in)
	shown.Network = shown.Network.Worded(in)
	shown.Denials = slices.Clone(shown.Denials)
	for i := range shown.Denials {
		d := &shown.Denials[i]
		d.Why, d.Fix = d.Why.Worded(in), d.Fix.Worded(in)
	}
	if e := shown.Error; e != nil {
		told := *e
		told.Detail, told.Remedy = told.Detail.Worded(in), told.Remedy.Worded(in)
		shown.Error = &told
	}
	r.Result = &shown
}
