package engine

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/brigd/token"
)

// maxGrants is the number of cached tokens. Each has at most token.MaxText bytes, and the policies of its blocks.
const maxGrants = 256

// grants caches parsed tokens by the digest of their text, since checking the signatures and policies of many blocks
// takes milliseconds. Whether a token is valid now and not revoked is checked for each request.
type grants struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]*Grant
}

// Authenticate returns the Caller for a capability token. It must be called for each request, since a token may be
// revoked.
func (e *Engine) Authenticate(bearer string, now time.Time) (Caller, *job.Refusal) {
	keys := e.opts.TokenKeys
	if len(keys) == 0 {
		return Caller{}, refuse("auth", "tokens_unknown", "", "this engine knows no key that tokens are signed with",
			"ask the operator to start brigd with a token key")
	}
	digest := sha256.Sum256([]byte(bearer))
	g, err := e.grants.find(digest), error(nil)
	if g == nil {
		g = &Grant{}
		g.token, err = token.Parse(bearer)
	}
	if err == nil {
		err = token.Verify(g.token, keys, now)
	}
	if err == nil {
		err = e.opts.Ledger.Revoked(g.token.IDs()...)
	}
	if err == nil && g.policies == nil {
		if err = g.parse(); err == nil {
			e.grants.remember(digest, g)
		}
	}
	if err != nil {
		return Caller{}, asRefusal(err, "token", "token_refused")
	}
	return Caller{Agent: g.token.Agent(), Grant: g}, nil
}

// parse parses the policies of a token. Its signatures must have been verified.
func (g *Grant) parse() error {
	g.policies = []*policy.Policy{}
	for i, doc := range g.token.Policies() {
		p, err := policy.Parse(doc)
		if err != nil {
			return refuse("token", "token_policy", "", fmt.Sprintf("policy %d of the token: %v", i+1, err),
				"ask whoever made the token for another one")
		}
		g.policies = append(g.policies, p)
	}
	return nil
}

func (s *grants) find(digest [sha256.Size]byte) *Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[digest]
}

// remember caches a Grant. If the cache is full, it replaces an arbitrary entry.
func (s *grants) remember(digest [sha256.Size]byte, g *Grant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.known {
		if len(s.known) < maxGrants {
			break
		}
		delete(s.known, other)
	}
	s.known[digest] = g
}
