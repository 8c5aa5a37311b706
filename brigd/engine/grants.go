package engine

import (
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/brigd/token"
)

// maxGrants is the number of cached tokens. Each has at most token.MaxText bytes, and the policies of its blocks.
const maxGrants = 256

// grants checks the tokens of callers. It caches the parsed ones by the digest of their text, since checking the
// signatures and policies of many blocks takes milliseconds. Whether a token is valid now and not revoked is checked
// for each request.
type grants struct {
	keys   []ed25519.PublicKey
	ledger *token.Ledger

	mu    sync.Mutex
	known map[[sha256.Size]byte]*Grant
}

func newGrants(keys []ed25519.PublicKey, ledger *token.Ledger) *grants {
	return &grants{keys: keys, ledger: ledger, known: map[[sha256.Size]byte]*Grant{}}
}

// Authenticate returns the Caller for a capability token. It must be called for each request, since a token may be
// revoked.
func (s *grants) Authenticate(bearer string, now time.Time) (Caller, *job.Refusal) {
	if len(s.keys) == 0 {
		return Caller{}, refuse("auth", "tokens_unknown", "", "this engine knows no key that tokens are signed with",
			"ask the operator to start brigd with a token key")
	}
	digest := sha256.Sum256([]byte(bearer))
	g, err := s.find(digest), error(nil)
	if g == nil {
		g = &Grant{}
		g.token, err = token.Parse(bearer)
	}
	if err == nil {
		err = token.Verify(g.token, s.keys, now)
	}
	if err == nil {
		err = s.ledger.Revoked(g.token.IDs()...)
	}
	if err == nil && g.policies == nil {
		if err = g.parse(); err == nil {
			s.remember(digest, g)
		}
	}
	if err != nil {
		return Caller{}, asRefusal(err, "token", "token_refused")
	}
	return Caller{Agent: g.token.Agent(), Grant: g}, nil
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

// spend counts the run in the token's ledger. It is called after all other checks have passed.
func (s *grants) spend(c Caller, j *job.Job) {
	if c.Counted || j.Verdict.Refusal != nil {
		return
	}
	if no := s.Count(c); no != nil {
		j.Refuse(no)
	}
}

// Count counts a run in the ledger of the caller's token, if there is one. Run does it unless the Caller is Counted.
func (s *grants) Count(c Caller) *job.Refusal {
	if c.Grant == nil {
		return nil
	}
	return asRefusal(s.ledger.Spend(c.Grant.token, time.Now()), "token", "token_refused")
}

// holds checks a caller's token again. A caller over stdio authenticates only once, but the token may be revoked later.
func (s *grants) holds(c Caller) *job.Refusal {
	if c.Grant == nil {
		return nil
	}
	valid := token.Verify(c.Grant.token, s.keys, time.Now())
	return asRefusal(errors.Join(valid, s.ledger.Revoked(c.Grant.IDs()...)), "token", "token_refused")
}

// access is what callers may do: by the operator's policies, and by their tokens.
type access struct {
	policies
	*grants
}

// mayDo checks that the token is still valid and that the policies allow an operation, see policy.Sandbox.
func (a *access) mayDo(c Caller, op string) *job.Refusal {
	if no := a.holds(c); no != nil {
		return no
	}
	return a.each(c, func(p *policy.Policy) *job.Refusal { return p.CheckOperation(op) })
}
