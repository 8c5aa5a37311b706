package worker

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/brigd/job"
)

// maxRules is how many Rules are remembered: each front of the queue has one.
const maxRules = 64

// RuleBook remembers the Rules of fronts by their text.
type RuleBook struct {
	Own []byte // those of this process, which its engine holds itself

	mu    sync.Mutex
	known map[[sha256.Size]byte]*engine.Rules
}

// read returns the Rules in a text, or nil if they demand nothing else than this process does. Nothing runs by Rules
// that cannot be read.
func (b *RuleBook) read(text []byte) (*engine.Rules, *job.Refusal) {
	if len(text) == 0 || bytes.Equal(text, b.Own) {
		return nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	sum := sha256.Sum256(text)
	if r := b.known[sum]; r != nil {
		return r, nil
	}
	r, err := engine.ParseRules(text)
	if err != nil {
		return nil, unruled(err)
	}
	if b.known == nil || len(b.known) >= maxRules {
		b.known = map[[sha256.Size]byte]*engine.Rules{}
	}
	b.known[sum] = r
	return r, nil
}

func unruled(why error) *job.Refusal {
	return &job.Refusal{Code: "rules_unreadable", Layer: "policy", Rule: "rules",
		Message:   "the worker cannot read what the brigd that took the request demands: " + why.Error(),
		NextSteps: []string{"ask the operator to run the same version of brigd everywhere"}}
}

// Authenticate returns who has sent a request to Sandboxes.
func (o *Options) Authenticate(r *http.Request) (engine.Caller, *job.Refusal) {
	rules, err := base64.StdEncoding.DecodeString(r.Header.Get(front.RulesHeader))
	if err != nil {
		return engine.Caller{}, unruled(err)
	}
	return o.caller(r.Header.Get("X-Agent-Id"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), rules)
}

// caller returns who has asked for a run. A token is verified again: it may have been revoked meanwhile.
func (o *Options) caller(agent, token string, rules []byte) (c engine.Caller, no *job.Refusal) {
	c = engine.Caller{Agent: agent, Counted: true}
	if c.Rules, no = o.Book.read(rules); no != nil {
		return c, no
	}
	if token == "" {
		if o.RequireToken {
			return c, &job.Refusal{Code: "token_required", Layer: "token",
				Message:   "the worker runs nothing without a capability token, and the run has none",
				NextSteps: []string{"send a token with the request"}}
		}
		return c, nil
	}
	of, no := o.Runner.Authenticate(token, time.Now())
	if no != nil {
		return c, no
	}
	if of.Agent != "" && agent != "" && of.Agent != agent {
		return c, &job.Refusal{Code: "agent_mismatch", Layer: "auth",
			Message: "the run is of another agent than its token"}
	}
	if c.Grant = of.Grant; of.Agent != "" {
		c.Agent = of.Agent
	}
	return c, nil
}
