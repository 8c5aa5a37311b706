package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"brig/nsjail"
)

// redactor removes secrets from texts that may contain input of callers or payloads. It must run before a text is
// truncated, since part of a secret would not be recognised. It may be nil.
type redactor func(string) string

func (f redactor) text(s string) string {
	if f == nil || s == "" {
		return s
	}
	return f(s)
}

// list returns a redacted copy of a list. The Job's list is not modified.
func (f redactor) list(in []string) []string {
	if f == nil || len(in) == 0 {
		return in
	}
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = f(s)
	}
	return out
}

// before returns the event for a Job that is about to run, or that was refused.
func before(j *nsjail.Job, argv bool) Event {
	e := about(RunStart, j)
	if j.Verdict.Refusal != nil {
		e.Kind = RunRefused
	}
	e.Verdict = verdict(j, argv)
	if len(j.Code) > 0 {
		e.CodeDigest, e.CodeBytes = digest(j.Code), len(j.Code)
	}
	if e.Argc = len(j.Spec.Args); e.Argc > 0 {
		var room [512]byte
		all := room[:0]
		for _, a := range j.Spec.Args {
			all = append(append(all, a...), 0)
		}
		e.ArgvDigest = digest(all)
	}
	if argv {
		e.Argv = redactor(j.Redact).list(j.Spec.Args)
	}
	e.SpecDigest = strings.TrimPrefix(j.Spec.Digest(), "sha256:")
	return e
}

// after returns the event for a Job that has ended.
func after(j *nsjail.Job, r *nsjail.Result, err error, argv bool) Event {
	e, redact := about(RunEnd, j), redactor(j.Redact)
	e.PlanDigest = j.PlanDigest
	if err != nil {
		var no *nsjail.Refusal
		if e.Status = string(nsjail.StatusError); errors.As(err, &no) {
			e.Status, err = "refused", no
			j.Refuse(no)
			e.Verdict = verdict(j, argv)
		}
		e.Error = redact.text(message(err, argv))
	}
	if r == nil {
		return e
	}
	e.Status, e.ExitCode, e.Signal, e.TimedOut, e.LimitsHit = string(r.Status), &r.ExitCode, r.Signal, r.TimedOut,
		r.LimitsHit
	e.Output, e.Violation = &r.Output, r.Violation
	e.Usage, _ = json.Marshal(&r.Usage) // cannot fail: it contains only numbers
	if r.Network != nil {
		e.Network = network(r, redact)
	}
	if r.Error != nil && e.Error == "" {
		e.Error = redact.text(message(r.Error, argv))
	}
	return e
}

// message returns the text of an error. Without argv, it returns only the operation and the system's error, which
// contain no text from the caller.
func message(err error, argv bool) string {
	var jail *nsjail.Error
	var no *nsjail.Refusal
	switch {
	case argv:
		return err.Error()
	case errors.As(err, &no):
		return no.Layer + ": " + no.Code
	case errors.As(err, &jail) && jail.Errno != 0:
		return jail.Op + ": " + jail.Errno.Error()
	case errors.As(err, &jail):
		return jail.Op
	}
	return "failed"
}

func about(kind string, j *nsjail.Job) Event {
	return Event{Kind: kind, Run: j.ID, Agent: j.Agent, Token: j.Token, Sandbox: j.Sandbox,
		Language: redactor(j.Redact).text(j.Language)}
}

func verdict(j *nsjail.Job, argv bool) *Verdict {
	redact := redactor(j.Redact)
	v := &Verdict{Allowed: j.Verdict.Refusal == nil, Policies: j.Verdict.Policies,
		Narrowed: redact.list(j.Verdict.Narrowed)}
	if r := j.Verdict.Refusal; r != nil {
		v.Layer, v.Code, v.Rule = r.Layer, r.Code, redact.text(r.Rule)
		if argv {
			v.Error = redact.text(r.Message)
		}
	}
	return v
}

// network returns the counts of the Result's network summary. It omits the single connections, which may contain URLs.
func network(r *nsjail.Result, redact redactor) *Network {
	s := r.Network
	return &Network{Total: s.Total, ByVerdict: counts(s.ByVerdict, nil), ByReason: counts(s.ByReason, nil),
		ByHost: counts(s.ByHost, redact), Sent: s.Sent, Received: s.Received, Unrecorded: s.Unrecorded}
}

// counts limits the size and number of names in a map, and redacts them. Counts of names that become equal are added,
// and the last names are combined as "other".
func counts[K ~string](in map[K]int, redact redactor) map[string]int {
	out := map[string]int{}
	for i, k := range slices.Sorted(maps.Keys(in)) {
		name := "other"
		if i < hostsKept {
			name = clean(redact.text(string(k)), maxName)
		}
		out[name] += in[k]
	}
	return out
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
