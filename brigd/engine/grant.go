package engine

import (
	"fmt"
	"slices"

	"brig/brigd/policy"
	"brig/brigd/token"
)

// Grant is what a verified capability token allows.
type Grant struct {
	token    *token.Token
	policies []*policy.Policy
}

// id returns the token's id for logs, or "" without a token.
func (g *Grant) id() string {
	if g == nil {
		return ""
	}
	return g.token.ID()
}

// verified returns the token, or nil without one.
func (g *Grant) verified() *token.Token {
	if g == nil {
		return nil
	}
	return g.token
}

// Bearer returns the token itself, which is secret, or "" without one.
func (g *Grant) Bearer() string {
	if g == nil {
		return ""
	}
	return g.token.Text()
}

// IDs returns the ids of the token's blocks, the first one's first. They begin with the ids of the token from which it
// was derived.
func (g *Grant) IDs() []string {
	if g == nil {
		return nil
	}
	return g.token.IDs()
}

// Covers reports whether the holder may act for the token with this chain of ids: the grant's own token, or one derived
// from it. Without a grant, every chain is covered.
func (g *Grant) Covers(chain []string) bool {
	own := g.IDs()
	return len(own) <= len(chain) && slices.Equal(own, chain[:len(own)])
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
