package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"brig/brigd/audit"
	"brig/brigd/job"
)

// Recorder writes to the audit log what becomes of runs that no Engine of this process decides about: they are refused
// before, or sent to another process. A nil Recorder writes nothing. Its events have no word of a request, which nobody
// has checked.
type Recorder struct{ log *audit.Log }

// NewRecorder returns a Recorder for a log; nil if that is nil.
func NewRecorder(l *audit.Log) *Recorder {
	if l == nil {
		return nil
	}
	return &Recorder{l}
}

// Sender is who has sent a request: the agent, and the id of the token.
type Sender struct{ Agent, Token string }

// SenderOf returns the Sender of a request.
func SenderOf(c Caller, r *Request) Sender {
	return Sender{cmp.Or(c.Agent, r.Agent, c.Name()), c.Grant.id()}
}

// Sent records a run before it is sent. If it returns a Refusal, the run must not be sent.
func (l *Recorder) Sent(s Sender, r *Request) *job.Refusal {
	return l.record(s.event(audit.RunSent, r))
}

// record writes an event, also of what is no run. If it returns a Refusal, the caller must refuse the operation.
func (l *Recorder) record(v audit.Event) *job.Refusal {
	if l == nil || l.log.Append(v) == nil {
		return nil
	}
	return audit.Unavailable(v.Kind)
}

// Refused records that a run was refused. It returns the refusal.
func (l *Recorder) Refused(s Sender, r *Request, no *job.Refusal) *job.Refusal {
	if l != nil {
		v := s.event(audit.RunRefused, r)
		v.Verdict = &audit.Verdict{Layer: no.Layer, Code: no.Code, Rule: no.Rule}
		_ = l.log.Append(v) // the log reports it, and the run is refused in any case
	}
	return no
}

// Answered records the answer to a run that was sent.
func (l *Recorder) Answered(s Sender, r *Request, a *Response) {
	if l == nil {
		return
	}
	v := audit.Event{Kind: audit.RunEnd, Run: a.ID, Agent: s.Agent, Token: s.Token, Sandbox: r.Sandbox, Status: a.Status,
		ExitCode: &a.ExitCode, Signal: a.Signal, TimedOut: a.TimedOut, LimitsHit: a.LimitsHit}
	if a.Queue != nil {
		v.Note = "worker " + a.Queue.Worker
	}
	if no := a.Error; no != nil {
		v.Verdict = &audit.Verdict{Layer: no.Layer, Code: no.Code, Rule: no.Rule}
	}
	_ = l.log.Append(v) // the log reports it, and the next run is refused
}

func (s Sender) event(kind string, r *Request) audit.Event {
	v := audit.Event{Kind: kind, Run: r.ID, Agent: s.Agent, Token: s.Token, Sandbox: r.Sandbox, Argc: len(r.Cmd)}
	if r.Code != "" {
		v.CodeDigest, v.CodeBytes = sumOf(r.Code), len(r.Code)
	}
	if v.Argc > 0 {
		v.ArgvDigest = sumOf(strings.Join(r.Cmd, "\x00") + "\x00")
	}
	return v
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
