package main

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/config"
	"brig/brigd/internal/links"
	"brig/brigd/internal/listen"
	"brig/brigd/job"
	"brig/brigd/token"
)

// authenticator identifies the caller of each request.
type authenticator struct {
	keys   *listen.Keys                                                     // nil if there are none
	tokens func(bearer string, now time.Time) (engine.Caller, *job.Refusal) // nil if tokens are not accepted
	links  *links.Links                                                     // nil if there are none
	always bool                                                             // also require proof at Unix sockets
	note   func(no *job.Refusal, source string)                             // called for each refusal, if set
}

// newAuthenticator reads the API keys and the token keys.
func newAuthenticator(c *config.Config, e *engine.Engine, l *links.Links) (*authenticator, error) {
	a := &authenticator{links: l, always: c.Sockets.RequireToken}
	if len(c.Sockets.TokenKeys) > 0 {
		a.tokens = e.Authenticate
	}
	if c.Sockets.APIKeyFile == "" {
		return a, nil
	}
	var err error
	a.keys, err = listen.LoadKeys(c.Sockets.APIKeyFile)
	return a, err
}

// caller identifies the sender of a request by its credentials, or else by the peer credentials of the socket or the
// TLS certificate. An unknown caller is refused on every kind of connection.
func (a *authenticator) caller(r *http.Request) (engine.Caller, *job.Refusal) {
	c, no := a.whoIs(r)
	switch {
	case no == nil:
		listen.Known(r.Context())
	case a.note != nil:
		a.note(no, listen.Source(r))
	}
	return c, no
}

func (a *authenticator) whoIs(r *http.Request) (engine.Caller, *job.Refusal) {
	if c, ok := a.links.Visitor(r); ok { // whose token the engine checks again
		return c, nil
	}
	if values := r.Header.Values("Authorization"); len(values) > 0 {
		return a.bearer(values)
	}
	if peer := listen.PeerOf(r.Context()); peer.Local && !a.always {
		if peer.Own() {
			return engine.Caller{}, nil
		}
		return engine.Caller{Agent: listen.LocalUser + strconv.Itoa(peer.UID)}, nil
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 && !a.always {
		name := listen.CertName(r.TLS)
		if !listen.GoodAgent(name) {
			return engine.Caller{}, refuseAuth("certificate_name", "certificate",
				"the common name of your certificate is no agent's name",
				"use a certificate whose common name begins with a letter or digit and has at most 64 of those and . _ -")
		}
		return foreign(engine.Caller{Agent: name})
	}
	return engine.Caller{}, refuseAuth("authentication_required", "Authorization", "nothing says who you are",
		"send the header Authorization: Bearer TOKEN")
}

// credential reports whether a header Authorization has a token or a key of brigd's. Such a header is not passed in to
// a sandbox.
func (a *authenticator) credential(authorization string) bool {
	scheme, word, _ := strings.Cut(authorization, " ")
	if word = strings.TrimSpace(word); !strings.EqualFold(scheme, "Bearer") {
		word = strings.TrimSpace(authorization)
	}
	if a.keys != nil {
		if _, known := a.keys.Agent(word); known {
			return true
		}
	}
	return token.Like(word)
}

func (a *authenticator) bearer(values []string) (engine.Caller, *job.Refusal) {
	scheme, word, _ := strings.Cut(values[0], " ")
	word = strings.TrimSpace(word)
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || word == "" {
		return engine.Caller{}, refuseAuth("invalid_authorization", "Authorization",
			"the header Authorization is not one bearer token",
			"send one header, Authorization: Bearer TOKEN")
	}
	if a.keys != nil {
		if agent, ok := a.keys.Agent(word); ok {
			return foreign(engine.Caller{Agent: agent})
		}
	}
	if a.tokens != nil {
		c, no := a.tokens(word, time.Now())
		if no != nil {
			return engine.Caller{}, no
		}
		return foreign(c)
	}
	if a.keys == nil {
		return engine.Caller{}, refuseAuth("tokens_unknown", "Authorization", "this brigd takes no tokens",
			"leave the header Authorization out",
			"or ask the operator to start brigd with --token-key or --api-key-file")
	}
	return engine.Caller{}, refuseAuth("unknown_key", "Authorization", "nobody has this key",
		"ask the operator for another key")
}

// foreign refuses an authenticated caller whose agent name is reserved for a local user: the name would give access to
// that user's sandboxes.
func foreign(c engine.Caller) (engine.Caller, *job.Refusal) {
	if err := listen.Foreign(c.Agent); err != nil {
		return engine.Caller{}, refuseAuth("agent_reserved", "agent", err.Error(),
			"ask whoever made your key, token or certificate for one with another agent's name")
	}
	return c, nil
}

func refuseAuth(code, rule, message string, next ...string) *job.Refusal {
	return &job.Refusal{Message: message, Code: code, Layer: "auth", Rule: rule, NextSteps: next}
}
