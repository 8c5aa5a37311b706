package mcp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/agent/engine"
	"brig/cmd/brigd/internal/body"
	"brig/nsjail"
)

const (
	sessionHeader = "Mcp-Session-Id"
	// callHeader carries, within this process, the key of the HTTP request that a call came with. A client's own is
	// removed.
	callHeader = "Brig-Http-Request"
)

// Server serves MCP over streamable HTTP. Who may come in is decided in front of it; see Options.Caller.
type Server struct {
	*service
	inner  http.Handler
	places *body.Budget // of the requests that are answered at once
	bodies *body.Budget

	mu       sync.Mutex
	sessions map[string]*owned
	closed   bool
}

// owned is a session with its owner.
type owned struct {
	*session
	owner string
	key   string // its caller, for counting: engine.Caller.Key
	probe bool   // it ends with the request that began it: the client asks which protocol is spoken here
}

// Handler is NewServer for a caller that closes nothing and whose tools file is known to be valid. An error in the
// options is the answer to every request.
func Handler(o Options) http.Handler {
	s, err := NewServer(o)
	if err != nil {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			refuseHTTP(w, r, http.StatusInternalServerError,
				&nsjail.Refusal{Message: err.Error(), Code: "bad_options", Layer: "request",
					NextSteps: []string{"Tell the operator of the server."}})
		})
	}
	return s
}

// NewServer returns a Server. Close ends its sessions.
func NewServer(o Options) (*Server, error) {
	service, err := newService(o)
	if err != nil {
		return nil, err
	}
	s := &Server{service: service, sessions: map[string]*owned{}, places: body.NewBudget(int64(service.o.MaxRequests), 2),
		bodies: body.NewBudget(max(maxHeld, body.Memory*int64(service.o.MaxMessage)), body.Memory)}
	s.inner = sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		x, _ := r.Context().Value(sessionKey{}).(*owned)
		if x == nil {
			return nil
		}
		return x.server
	}, &sdk.StreamableHTTPOptions{Logger: slog.New(quiet{service.o.Logger.Handler()}),
		SessionTimeout:             service.o.IdleTimeout,
		MaxRequestBodyBytes:        int64(service.o.MaxMessage),
		DisableLocalhostProtection: true}) // ours is stricter, and knows Options.Hosts
	return s, nil
}

type sessionKey struct{}

// Close cancels running calls and removes all sessions with their sandboxes. Later requests are refused.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	var list []*owned
	for _, x := range s.sessions {
		list = append(list, x)
	}
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, x := range list {
		all.Go(x.close)
	}
	all.Wait()
	return nil
}

// Sessions returns the number of sessions.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, _ := s.count("")
	return all
}

// count returns the number of all sessions, and of those of one caller. All copies of a token count as one caller. The
// caller of count holds s.mu.
func (s *Server) count(key string) (all, mine int) {
	for _, x := range s.sessions {
		if x.probe {
			continue
		}
		if all++; x.key == key {
			mine++
		}
	}
	return all, mine
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
		s.visited(w, r, "", func(v *visit) (int, *nsjail.Refusal) {
			if _, status, no := s.enter(v); no != nil {
				return status, no
			}
			return http.StatusNotFound, refuse("request", "route_not_found", "path", "there is nothing at this path",
				"MCP is spoken at /mcp.")
		})
	})
}

// enter returns the caller, or the status and the refusal.
func (s *Server) enter(v *visit) (engine.Caller, int, *nsjail.Refusal) {
	if status, no := s.ours(v.Header(), v.r); no != nil {
		return engine.Caller{}, status, no
	}
	c, no := s.o.Caller(v.r)
	if no != nil {
		return c, http.StatusUnauthorized, no
	}
	v.agent = c.Name()
	return c, 0, nil
}

func (s *Server) answer(v *visit) (int, *nsjail.Refusal) {
	if v.r.Method == http.MethodOptions { // a browser's CORS preflight
		status, no := s.ours(v.Header(), v.r)
		if no == nil {
			v.WriteHeader(http.StatusNoContent)
		}
		return status, no
	}
	c, status, no := s.enter(v)
	if no != nil {
		return status, no
	}
	if !s.places.Take(c.Key(), 1) {
		return http.StatusServiceUnavailable,
			refuse("queue", "too_many_requests", "requests", "as many requests are being answered as may be at once",
				"Send the same request again in a second.")
	}
	defer s.places.Take(c.Key(), -1)
	id := v.r.Header.Get(sessionHeader)
	if id == "" && v.r.Method != http.MethodPost {
		return http.StatusBadRequest, refuse("request", "no_session", sessionHeader,
			"the header "+sessionHeader+" is missing",
			"POST an initialize request first, and send back the header that it answers with.")
	}
	if status, no := v.read(c.Key()); no != nil {
		return status, no
	}
	x, status, no := s.find(c, owner(c, v.r), id, v.r.Header.Get("Mcp-Protocol-Version") >= sessionless)
	if no != nil {
		return status, no
	}
	x.become(c)
	if v.r.Method == http.MethodDelete {
		x.cancel(errEnded) // the SDK waits for the calls
	}
	ctx, forget := s.remember(context.WithValue(v.r.Context(), sessionKey{}, x))
	defer forget()
	r := v.r.WithContext(ctx)
	r.Header = r.Header.Clone()
	r.Header.Set(callHeader, keyOf(ctx))
	s.inner.ServeHTTP(v, r)
	// unbound: the request was not one of the protocol, and the SDK has closed the connection
	if r.Method == http.MethodDelete || !x.isBound() {
		x.close()
	}
	return 0, nil
}

// find returns a session of the caller, or a new one for "". Another caller's session is reported as unknown.
func (s *Server) find(c engine.Caller, who, id string, probe bool) (*owned, int, *nsjail.Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id != "" {
		if x := s.sessions[id]; x != nil && x.owner == who {
			return x, 0, nil
		}
		return nil, http.StatusNotFound,
			&nsjail.Refusal{Message: "there is no such session", Code: "session_unknown", Layer: "request",
				NextSteps: []string{"It has ended, or is not yours: begin a new one with an initialize request."}}
	}
	if s.closed {
		return nil, http.StatusServiceUnavailable,
			&nsjail.Refusal{Message: "the server ends", Code: "draining", Layer: "queue",
				NextSteps: []string{"Try again later."}}
	}
	all, mine := s.count(c.Key())
	if !probe && (all >= s.o.MaxSessions || mine >= s.o.MaxSessionsPerCaller) || len(s.sessions) >= 2*s.o.MaxSessions {
		return nil, http.StatusTooManyRequests,
			&nsjail.Refusal{Message: "there are as many sessions as there may be", Code: "too_many_sessions", Layer: "quota",
				NextSteps: []string{"End a session with DELETE, or wait until an idle one expires."}}
	}
	id = rand.Text()
	x := &owned{owner: who, key: c.Key(), probe: probe}
	x.session = s.open(c, id, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.sessions, id)
	})
	s.sessions[id] = x
	return x, 0, nil
}

// owner returns a key for the agent and the token of a request. Unlike the token, it is not secret.
func owner(c engine.Caller, r *http.Request) string {
	sum := sha256.Sum256([]byte(r.Header.Get("Authorization")))
	return hex.EncodeToString(sum[:]) + " " + c.Agent
}

type keyKey struct{}

// remember registers the context of an HTTP request for the request's calls.
func (s *service) remember(ctx context.Context) (context.Context, func()) {
	key := rand.Text()
	ctx = context.WithValue(ctx, keyKey{}, key)
	s.requests.Store(key, ctx)
	return ctx, func() { s.requests.Delete(key) }
}

func keyOf(ctx context.Context) string {
	key, _ := ctx.Value(keyKey{}).(string)
	return key
}

// follow cancels a call when its HTTP request ends: the result could no longer be delivered.
func (s *service) follow(ctx context.Context, h http.Header) (_ context.Context, stop func()) {
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
