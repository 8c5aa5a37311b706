package api

import (
	"context"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"brig/agent/engine"
	"brig/cmd/brigd/internal/body"
	"brig/cmd/brigd/internal/live"
	"brig/nsjail"
)

// Engine is what runs things: an *engine.Engine. Errors that are *nsjail.Refusal keep their words; others are faults.
type Engine interface {
	Run(ctx context.Context, c engine.Caller, r *engine.Request, stream func(engine.Event)) *engine.Response
	Languages() []engine.Language
	CreateSandbox(ctx context.Context, c engine.Caller, r *engine.SandboxRequest) (*engine.SandboxInfo, error)
	Sandboxes(c engine.Caller) []engine.SandboxInfo
	Sandbox(c engine.Caller, id string) (*engine.SandboxInfo, error)
	DeleteSandbox(c engine.Caller, id string) error
	PutFile(c engine.Caller, id, path string, r io.Reader, mode fs.FileMode) (*engine.FileInfo, error)
	GetFile(c engine.Caller, id, path string) (io.ReadCloser, *engine.FileInfo, error)
	ListFiles(c engine.Caller, id, path string, recursive bool, after string) ([]engine.FileInfo, bool, error)
	DeleteFile(c engine.Caller, id, path string) error
	Allowed(c engine.Caller, id, path string, write bool) (bool, error)
}

// Gate lets runs in, a bounded number at a time.
type Gate interface {
	// Ask takes one run from the caller's rate, before the run's body is read. Enter waits for a place, and release frees
	// it. Both count by engine.Caller.Key. An error may have RetryAfter() time.Duration, or RetrySeconds() int, and be or
	// wrap an *nsjail.Refusal, whose code "draining" means that every caller is refused.
	Ask(caller string) error
	Enter(ctx context.Context, caller string) (release func(), err error)
}

// Options are what a handler is made of. Only Engine is required.
type Options struct {
	Engine Engine
	Gate   Gate // nil: everybody is let in
	// Authenticate returns the caller; nil is the zero Caller, at a Unix socket only. Bearer makes one from tokens.
	Authenticate func(*http.Request) (engine.Caller, *nsjail.Refusal)
	Metrics      http.Handler // nil: there are none
	Live         *live.Table  // nil: no run is known
	Logger       *slog.Logger // nil: nothing is logged
	// Ready reports whether runs are taken; nil is always. Health adds what a caller may know of it, by name.
	Ready  func() bool
	Health func() map[string]string
	// Version is brigd's.
	Version string

	// Hosts are the names, without port, by which a TCP client may call this server: others are refused, as a name that an
	// attacker has pointed here (DNS rebinding). "localhost" and the address that it has connected to are always right.
	Hosts []string
	// Origins are the web pages, as "https://example.org", whose scripts may call.
	Origins []string

	MaxBody     int64         // bytes of a JSON body (32 MiB)
	MaxFile     int64         // bytes of a file up or down (256 MiB)
	MaxBuffered int64         // bytes of all JSON bodies that are held at once, at least four times MaxBody (256 MiB)
	MaxRequests int           // at once (1024); one caller has half of what the others leave
	BodyTime    time.Duration // for a JSON body to arrive (30 s), and 1 s more for each MiB; a file has eight times that
	WriteTime   time.Duration // for a client to take a piece of the answer (30 s)
}

func (o *Options) defaults() {
	for _, d := range []struct {
		field *int64
		value int64
	}{{&o.MaxBody, 32 << 20}, {&o.MaxFile, 256 << 20}, {&o.MaxBuffered, 256 << 20}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if o.MaxRequests <= 0 {
		o.MaxRequests = 1024
	}
	if o.BodyTime <= 0 {
		o.BodyTime = 30 * time.Second
	}
	if o.WriteTime <= 0 {
		o.WriteTime = 30 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Live == nil {
		o.Live = &live.Table{}
	}
	if o.Version == "" {
		o.Version = "unknown"
	}
}

// New returns the handler.
func New(o Options) http.Handler { return newServer(o) }

func newServer(o Options) *server {
	o.defaults()
	buffered := max(o.MaxBuffered, body.Memory*o.MaxBody)
	s := &server{Options: o, routes: routes(),
		places: body.NewBudget(int64(o.MaxRequests), 2), bodies: body.NewBudget(buffered, body.Memory)}
	s.openapi = OpenAPI(o.Version)
	return s
}

// HTTPServer returns a server for h with limits for the time before a handler runs: 10 s and 32 KiB for the headers,
// and two minutes between requests (5 s by TCP until the first authenticated request: package listen). The handler sets
// those for bodies and answers.
func HTTPServer(h http.Handler, logger *slog.Logger) *http.Server {
	s := &http.Server{Handler: h, DisableGeneralOptionsHandler: true, ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10}
	if logger != nil {
		s.ErrorLog = slog.NewLogLogger(logger.Handler(), slog.LevelWarn)
	}
	return s
}

// Bearer returns an authenticator that verifies the token in the header Authorization. A request without one has the
// zero Caller.
func Bearer(verify func(token string, now time.Time) (engine.Caller,
	*nsjail.Refusal)) func(*http.Request) (engine.Caller, *nsjail.Refusal) {
	return func(r *http.Request) (engine.Caller, *nsjail.Refusal) {
		values := r.Header.Values("Authorization")
		if len(values) == 0 {
			return engine.Caller{}, nil
		}
		scheme, token, _ := strings.Cut(values[0], " ")
		if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
			return engine.Caller{}, &nsjail.Refusal{Message: "the header Authorization is not one bearer token",
				Code: "invalid_authorization", Layer: "auth",
				Rule: "Authorization", NextSteps: []string{"send one header, Authorization: Bearer TOKEN"}}
		}
		return verify(strings.TrimSpace(token), time.Now())
	}
}
