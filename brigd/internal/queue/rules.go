package queue

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"

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
func (o *WorkerOptions) Authenticate(r *http.Request) (engine.Caller, *job.Refusal) {
	rules, err := base64.StdEncoding.DecodeString(r.Header.Get(front.RulesHeader))
	if err != nil {
		return engine.Caller{}, unruled(err)
	}
	return o.caller(r.Header.Get("X-Agent-Id"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), rules)
}
