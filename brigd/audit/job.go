package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/denial"
	"brig/internal/words"
	"brig/nsjail"
)

// redactor returns what removes a Job's secrets from texts that may contain input of callers or payloads. It must run
// before a text is truncated, since part of a secret would not be recognised.
func redactor(j *job.Job) func(string) string {
	if j.Redact == nil {
		return same
	}
	return j.Redact
}

func same(s string) string { return s }

// each returns a list of what f returns for each text. The Job's list is not modified.
func each(list []string, f func(string) string) (out []string) {
	for _, s := range list {
		out = append(out, f(s))
	}
	return out
}

// before returns the event for a Job that is about to run, or that was refused.
func before(j *job.Job, argv bool) Event {
	e := about(RunStart, j)
	if j.Verdict.Refusal != nil {
		e.Kind = RunRefused
	}
	e.Verdict = verdict(j, argv)
	if len(j.Code) > 0 {
		e.CodeDigest, e.CodeBytes = digest(j.Code), len(j.Code)
	}
	if e.Argc = len(j.Spec.Args); e.Argc > 0 {
		e.ArgvDigest = digest([]byte(strings.Join(j.Spec.Args, "\x00") + "\x00"))
	}
	if argv {
		e.Argv = each(j.Spec.Args, redactor(j))
	}
	e.Image = j.Spec.Rootfs.Image
	for _, m := range j.Spec.Mounts {
		if m.Held != nil {
			e.Shares = append(e.Shares, Share{m.Held.Name, m.Source, m.Target, m.Writable})
		}
	}
	e.SpecDigest = strings.TrimPrefix(j.Spec.Digest(), "sha256:")
	return e
}

// after returns the event for a Job that has ended.
func after(j *job.Job, r *nsjail.Result, err error, argv bool) Event {
	e, redact := about(RunEnd, j), redactor(j)
	e.PlanDigest = j.PlanDigest
	if err != nil {
		var no *job.Refusal
		if e.Status = string(nsjail.StatusError); errors.As(err, &no) {
			e.Status, err = "refused", no
			j.Refuse(no)
			e.Verdict = verdict(j, argv)
		}
		e.Error = redact(message(err, argv))
		if exec, ok := errors.AsType[*nsjail.ExecError](err); ok {
			e.Denials = denials([]denial.Denial{exec.Denial()}, argv, redact)
		}
	}
	if r == nil {
		return e
	}
	e.Status, e.ExitCode, e.Signal, e.TimedOut, e.LimitsHit = string(r.Status), &r.ExitCode, r.Signal, r.TimedOut,
		r.LimitsHit
	e.Output, e.Violation, e.Warm = &r.Output, r.Violation, r.Warm
	e.Usage, _ = json.Marshal(&r.Usage) // cannot fail: it contains only numbers
	e.Denials = append(e.Denials, denials(r.Denials, argv, redact)...)
	if r.Network != nil {
		e.Network = network(r, redact)
	}
	if r.Error != nil && e.Error == "" {
		e.Error = redact(message(r.Error, argv))
	}
	return e
}

// denials returns what was refused. The name of a command is an argument.
func denials(list []denial.Denial, argv bool, redact func(string) string) (out []Denial) {
	for i := range list {
		d := Denial{Layer: list[i].Layer, Count: list[i].Count}
		if d.Layer != denial.LayerExec || argv {
			d.Name = redact(list[i].Name)
		}
		out = append(out, d)
	}
	return out
}

// message returns the text of an error. Without argv, it returns only the operation and the system's error, which
// contain no text from the caller.
func message(err error, argv bool) string {
	var jail *nsjail.Error
	var no *job.Refusal
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

func about(kind string, j *job.Job) Event {
	return Event{Kind: kind, Run: j.ID, Agent: j.Agent, Token: j.Token, Sandbox: j.Sandbox,
		Language: redactor(j)(j.Language)}
}

func verdict(j *job.Job, argv bool) *Verdict {
	redact := redactor(j)
	v := &Verdict{Allowed: j.Verdict.Refusal == nil, Policies: j.Verdict.Policies,
		Narrowed: each(j.Verdict.Narrowed, redact)}
	if r := j.Verdict.Refusal; r != nil {
		v.Layer, v.Code, v.Rule = r.Layer, r.Code, redact(r.Rule)
		if argv {
			v.Error = redact(r.Message)
		}
	}
	return v
}

// network returns the counts of the Result's network summary. It omits the single connections, which may contain URLs.
func network(r *nsjail.Result, redact func(string) string) *Network {
	s := r.Network
	return &Network{Total: s.Total, ByVerdict: counts(s.ByVerdict, same), ByReason: counts(s.ByReason, same),
		ByHost: counts(s.ByHost, redact), Sent: s.Sent, Received: s.Received, Unrecorded: s.Unrecorded}
}

// counts limits the size and number of names in a map, and redacts them. Counts of names that become equal are added,
// and the last names are combined as "other".
func counts[K ~string](in map[K]int, redact func(string) string) map[string]int {
	out := map[string]int{}
	for i, k := range slices.Sorted(maps.Keys(in)) {
		name := "other"
		if i < hostsKept {
			name = words.UTF8(redact(string(k)), maxName)
		}
		out[name] += in[k]
	}
	return out
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
