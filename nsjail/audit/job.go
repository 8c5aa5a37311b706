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

// before describes a Job that is about to run, or that was refused.
func before(j *nsjail.Job, argv bool) Event {
	e := about(RunStart, j)
	if j.Verdict.Refusal != nil {
		e.Kind = RunRefused
	}
	e.Verdict = verdict(j)
	if len(j.Code) > 0 {
		e.CodeDigest, e.CodeBytes = digest(j.Code), len(j.Code)
	}
	if e.Argc = len(j.Spec.Args); e.Argc > 0 {
		e.ArgvDigest = digest([]byte(strings.Join(j.Spec.Args, "\x00") + "\x00"))
	}
	if argv {
		e.Argv = j.Spec.Args
	}
	e.SpecDigest = strings.TrimPrefix(j.Spec.Digest(), "sha256:")
	return e
}

// after describes how a Job ended.
func after(j *nsjail.Job, r *nsjail.Result, err error) (Event, error) {
	e := about(RunEnd, j)
	e.PlanDigest = j.PlanDigest
	var no *nsjail.Refusal
	if errors.As(err, &no) {
		e.Status, e.Error = "refused", no.Error()
		j.Refuse(no)
		e.Verdict = verdict(j)
	} else if err != nil {
		e.Status, e.Error = string(nsjail.StatusError), err.Error()
	}
	if r == nil {
		return e, nil
	}
	e.Status, e.ExitCode, e.Signal, e.TimedOut, e.LimitsHit = string(r.Status), &r.ExitCode, r.Signal, r.TimedOut, r.LimitsHit
	e.Output, e.Violation, e.Network = &r.Output, r.Violation, network(r)
	if r.Error != nil && e.Error == "" {
		e.Error = r.Error.Error()
	}
	var failed error
	e.Usage, failed = marshal(&r.Usage)
	return e, failed
}

func about(kind string, j *nsjail.Job) Event {
	return Event{Kind: kind, Run: j.ID, Agent: j.Agent, Token: j.Token, Sandbox: j.Sandbox, Language: j.Language}
}

func verdict(j *nsjail.Job) *Verdict {
	v := &Verdict{Allowed: j.Verdict.Refusal == nil, Policies: j.Verdict.Policies, Narrowed: j.Verdict.Narrowed}
	if r := j.Verdict.Refusal; r != nil {
		v.Layer, v.Code, v.Rule, v.Error = r.Layer, r.Code, r.Rule, r.Message
	}
	return v
}

// network takes from the Result's summary what is counted, and none of its lines: they can hold what a URL holds.
func network(r *nsjail.Result) *Network {
	s := r.Network
	if s == nil {
		return nil
	}
	return &Network{Total: s.Total, ByVerdict: counts(s.ByVerdict), ByReason: counts(s.ByReason), ByHost: counts(s.ByHost),
		Sent: s.Sent, Received: s.Received, Unrecorded: s.Unrecorded}
}

// counts copies the first entries of a map, with bounded names.
func counts[K ~string](in map[K]int) map[string]int {
	out := make(map[string]int, len(in))
	keys := slices.Sorted(maps.Keys(in))
	for _, k := range keys[:min(len(keys), hostsKept)] {
		out[clean(string(k), maxName)] += in[k]
	}
	for _, k := range keys[min(len(keys), hostsKept):] {
		out["other"] += in[k]
	}
	return out
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
