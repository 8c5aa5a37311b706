package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"

	"brig/nsjail"
)

// redactor takes secrets out of what callers and payloads can have put into a text: before it is cut, since a part of a
// secret would not be known. It may be nil.
type redactor func(string) string

func (f redactor) text(s string) string {
	if f == nil || s == "" {
		return s
	}
	return f(s)
}

// list gives another one: the Job's is left alone.
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

// before describes a Job that is about to run, or that was refused.
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

// after describes how a Job ended.
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
	e.Status, e.ExitCode, e.Signal, e.TimedOut, e.LimitsHit = string(r.Status), &r.ExitCode, r.Signal, r.TimedOut, r.LimitsHit
	e.Output, e.Violation, e.used = &r.Output, r.Violation, &r.Usage
	if r.Network != nil {
		e.reached = network(r, redact)
	}
	if r.Error != nil && e.Error == "" {
		e.Error = redact.text(message(r.Error, argv))
	}
	return e
}

// message is an error's own with argv, and else what holds no word of a caller's: the operation and the system's error.
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
	return Event{Kind: kind, Run: j.ID, Agent: j.Agent, Token: j.Token, Sandbox: j.Sandbox, Language: redactor(j.Redact).text(j.Language)}
}

func verdict(j *nsjail.Job, argv bool) *Verdict {
	redact := redactor(j.Redact)
	v := &Verdict{Allowed: j.Verdict.Refusal == nil, Policies: j.Verdict.Policies, Narrowed: redact.list(j.Verdict.Narrowed)}
	if r := j.Verdict.Refusal; r != nil {
		v.Layer, v.Code, v.Rule = r.Layer, r.Code, redact.text(r.Rule)
		if argv {
			v.Error = redact.text(r.Message)
		}
	}
	return v
}

// reached is a Network before it is written.
type reached struct {
	total                    int
	verdicts, reasons, hosts []tally
	sent, received           int64
	unrecorded               int
}

type tally struct {
	name string
	n    int
}

// network takes from the Result's summary what is counted, and none of its lines: they can hold what a URL holds.
func network(r *nsjail.Result, redact redactor) *reached {
	s := r.Network
	return &reached{total: s.Total, verdicts: counts(s.ByVerdict, nil), reasons: counts(s.ByReason, nil), hosts: counts(s.ByHost, redact),
		sent: s.Sent, received: s.Received, unrecorded: s.Unrecorded}
}

// counts lists the first entries of a map, with bounded names, in order; those that are then called the same are one.
func counts[K ~string](in map[K]int, redact redactor) []tally {
	if len(in) == 0 {
		return nil
	}
	out := make([]tally, 0, len(in)+1)
	for i, k := range slices.Sorted(maps.Keys(in)) {
		name := "other"
		if i < hostsKept {
			name = clean(redact.text(string(k)), maxName)
		}
		out = append(out, tally{name, in[k]})
	}
	slices.SortFunc(out, func(a, b tally) int { return strings.Compare(a.name, b.name) })
	kept := out[:1]
	for _, t := range out[1:] {
		if last := &kept[len(kept)-1]; last.name == t.name {
			last.n += t.n
		} else {
			kept = append(kept, t)
		}
	}
	return kept
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hexOf(&sum)
}

func hexOf(sum *[sha256.Size]byte) string {
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}
