// Package record has what the queue keeps of runs: a run as it travels, the records of its submission and of its
// result, and the objects of those that are too large for a message.
package record

import (
	"cmp"
	"encoding/json"

	"brig/brigd/engine"
	"brig/brigd/job"
)

// Run is a run as it travels.
type Run struct {
	ID     string `json:"id"`
	Agent  string `json:"agent,omitempty"`
	Token  string `json:"token,omitempty"`  // a capability token
	Stream bool   `json:"stream,omitempty"` // the output is sent as events, and is not in the result
	Watch  bool   `json:"watch,omitempty"`  // the output is sent as events
	// Reply is the subject for events and for the result; "" if the result is only stored.
	Reply   string `json:"reply,omitempty"`
	Tracked bool   `json:"tracked,omitempty"` // GET /v1/runs/ID may ask where it is
	Digest  string `json:"digest,omitempty"`  // of the request
	Owner   Owner  `json:"owner"`
	Caller  string `json:"caller,omitempty"` // whose bounds it counts for: see engine.Caller.Key
	// Rules are what the front demands of it: engine.Rules.
	Rules   json.RawMessage `json:"rules,omitempty"`
	Request engine.Request  `json:"request"`
}

// Owner is who may ask for a run's result.
type Owner struct {
	Agent string   `json:"agent"`
	Chain []string `json:"chain,omitempty"` // the ids of the token's blocks
}

// OwnerOf returns the owner of a caller's runs.
func OwnerOf(c engine.Caller) Owner { return Owner{c.Name(), c.Grant.IDs()} }

// Sender returns who has asked for the run.
func (j *Run) Sender() engine.Sender {
	s := engine.Sender{Agent: cmp.Or(j.Agent, j.Owner.Agent)}
	if n := len(j.Owner.Chain); n > 0 {
		s.Token = j.Owner.Chain[n-1]
	}
	return s
}

// Refuse records that the run is refused, and returns the response to it.
func (j *Run) Refuse(l *engine.Recorder, no *job.Refusal) *engine.Response {
	j.Request.ID = j.ID
	return Refused(j.ID, l.Refused(j.Sender(), &j.Request, no))
}

// Refused returns the response to a run that was not started.
func Refused(id string, no *job.Refusal) *engine.Response {
	return &engine.Response{ID: id, Status: "refused", ExitCode: -1, Error: no}
}

// Gone is the refusal of a request for a result that is not kept any more.
var Gone = &job.Refusal{Code: "result_gone", Layer: "queue",
	Message:   "the run has ended, and its result is not kept any more",
	NextSteps: []string{"run it again, with another Idempotency-Key if it had one"}}
