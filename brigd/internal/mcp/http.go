package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/brigd/job"
)

// refuse returns a refusal.
var refuse = front.Refuse

const (
	sessionHeader = "Mcp-Session-Id"
	// callHeader carries, within this process, the key of the HTTP request that a call came with. A client's own is
	// removed.
	callHeader = "Brig-Http-Request"
)

type sessionKey struct{}

// Close cancels running calls and removes all sessions with their sandboxes. Later requests are refused.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	list := slices.Collect(maps.Values(s.sessions))
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, x := range list {
		all.Go(x.close)
	}
	all.Wait()
	return nil
}

// sessionless is the first version of the protocol without sessions. Over HTTP, the SDK answers such a request with the
// versions that this server supports, and closes the connection.
const sessionless = "2026-07-28"

// ServeHTTP answers one request of the streamable HTTP transport, whatever its path: POST, GET, DELETE and a browser's
// OPTIONS.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.visited(w, r, "mcp", s.answer) }

// Elsewhere returns a handler for unknown paths, which it reports to authenticated callers only.
func (s *Server) Elsewhere() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.visited(w, r, "", func(v *front.Visit) error {
			if err := v.Authenticate(); err != nil {
				return err
			}
			return refuse("request", "route_not_found", "path", "there is nothing at this path", "MCP is spoken at /mcp.")
		})
	})
}

// visited calls answer for a request, unless guard refuses it.
func (s *Server) visited(w http.ResponseWriter, r *http.Request, route string, answer func(*front.Visit) error) {
	s.Serve(w, r, func(v *front.Visit) error {
		v.Route = route
		err := guard(v)
		if err == nil {
			err = answer(v)
		}
		if err != nil {
			v.Header().Set("Cache-Control", "no-store")
		}
		if err != nil && v.Unread() {
			v.Header().Set("Connection", "close")
		}
		return err
	})
}

// messages are for callers of MCP in place of those of package front with the same codes.
var messages = map[string]*job.Refusal{
	"host_not_allowed": refuse("request", "host_not_allowed", "Host", "this server is not called by that name",
		"Call it by localhost or by its address, or start it with --host and this name."),
	"origin_not_allowed": refuse("auth", "origin_not_allowed", "Origin",
		"a browser has sent this for a page of another origin",
		"Call it from a program, or start it with --origin and this page's origin."),
}

// ownWords returns an error of package front in the words of this one.
func ownWords(err error) error {
	no, ok := err.(*job.Refusal)
	if !ok {
		return err
	}
	if own := messages[no.Code]; own != nil {
		return own
	}
	next := sentence(no.NextSteps[0])
	if no.Code == "body_too_large" {
		next = "Send less, or a file in parts."
	}
	return refuse(no.Layer, no.Code, no.Rule, no.Message, next)
}

// guard refuses requests to another server's name and those of foreign web pages.
func guard(v *front.Visit) error {
	if err := v.Guard(sessionHeader); err != nil {
		return ownWords(err)
	}
	if v.Header().Get("Access-Control-Allow-Origin") != "" {
		v.Header().Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		v.Header().Set("Access-Control-Allow-Headers",
			"Authorization, Content-Type, Last-Event-ID, Mcp-Protocol-Version, "+sessionHeader)
	}
	return nil
}

func (s *Server) answer(v *front.Visit) error {
	if v.R.Method == http.MethodOptions { // a browser's CORS preflight
		v.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err := v.Authenticate(); err != nil {
		return err
	}
	leave, err := v.Place()
	if err != nil {
		return ownWords(err)
	}
	defer leave()
	id := v.R.Header.Get(sessionHeader)
	if id == "" && v.R.Method != http.MethodPost {
		return refuse("request", "no_session", sessionHeader, "the header "+sessionHeader+" is missing",
			"POST an initialize request first, and send back the header that it answers with.")
	}
	if err := read(v); err != nil {
		return err
	}
	probe := v.R.Header.Get("Mcp-Protocol-Version") >= sessionless
	x, no := s.find(v.Caller, owner(v.Caller, v.R), id, probe)
	if no != nil {
		return no
	}
	caller := v.Caller // a pointer into v would keep the request and its body until the session's next request
	x.caller.Store(&caller)
	if v.R.Method == http.MethodDelete {
		x.cancel(errEnded) // the SDK waits for the calls
	}
	r := v.R.WithContext(context.WithValue(v.R.Context(), sessionKey{}, x))
	r.Header = r.Header.Clone()
	key := rand.Text()
	r.Header.Set(callHeader, key)
	s.requests.Store(key, r.Context())
	defer s.requests.Delete(key)
	s.inner.ServeHTTP(v, r)
	// unbound: the request was not one of the protocol, and the SDK has closed the connection
	if r.Method == http.MethodDelete || !x.bound.Load() {
		x.close()
	}
	return nil
}

// read reads the whole body and sets it as the request's body.
func read(v *front.Visit) error {
	text, err := v.ReadBody()
	if err != nil {
		return ownWords(err)
	}
	v.R.Body = io.NopCloser(bytes.NewReader(text))
	if trimmed := bytes.TrimLeft(text, " \t\r\n"); json.Valid(trimmed) && v.R.Method == http.MethodPost {
		if _, wrong := parseEnvelope(trimmed); wrong != "" {
			return refuse("request", "invalid_message", "body",
				"this is no message that all would read alike: "+wrong,
				"Send one message of JSON-RPC 2.0 in each request, whose id is a text or an integer.")
		}
	}
	return nil
}

// find returns a session of the caller, or a new one for "". Another caller's session is reported as unknown.
func (s *Server) find(c engine.Caller, who, id string, probe bool) (*session, *job.Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id != "" {
		if x := s.sessions[id]; x != nil && x.owner == who {
			return x, nil
		}
		return nil, refuse("request", "session_unknown", "", "there is no such session",
			"It has ended, or is not yours: begin a new one with an initialize request.")
	}
	if s.closed {
		return nil, refuse("queue", "draining", "", "the server ends", "Try again later.")
	}
	all, mine := 0, 0 // all copies of a token count as one caller
	for _, x := range s.sessions {
		if !x.probe {
			all++
		}
		if !x.probe && x.key == c.Key() {
			mine++
		}
	}
	if !probe && (all >= s.bounds.sessions || mine >= s.perCaller) || len(s.sessions) >= 2*s.bounds.sessions {
		return nil, refuse("quota", "too_many_sessions", "", "there are as many sessions as there may be",
			"End a session with DELETE, or wait until an idle one expires.")
	}
	x := s.open(c, rand.Text())
	x.owner, x.key, x.probe = who, c.Key(), probe
	s.sessions[x.id] = x
	return x, nil
}

// owner returns a key for the agent and the token of a request. Unlike the token, it is not secret.
func owner(c engine.Caller, r *http.Request) string {
	sum := sha256.Sum256([]byte(r.Header.Get("Authorization")))
	return hex.EncodeToString(sum[:]) + " " + c.Agent
}

// follow cancels a call when its HTTP request ends: the result could no longer be delivered.
func (s *Server) follow(ctx context.Context, h http.Header) (_ context.Context, stop func()) {
	key := h.Get(callHeader)
	if key == "" {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	request, ok := s.requests.Load(key)
	if !ok {
		cancel(errGone)
		return ctx, func() {}
	}
	forget := context.AfterFunc(request.(context.Context), func() { cancel(errGone) })
	return ctx, func() { forget(); cancel(nil) }
}
