package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/brigd/engine"
	"brig/brigd/job"
)

// session is one MCP session with its calls and its sandbox.
type session struct {
	*Server
	ctx    context.Context // ends with the session, and ends its calls
	cancel context.CancelCauseFunc
	server *sdk.Server
	caller atomic.Pointer[engine.Caller]
	bound  atomic.Bool // a client has begun to initialize it

	// of a session over HTTP
	id, owner string
	key       string // its caller, for counting: engine.Caller.Key
	probe     bool   // it ends with the request that began it: the client asks which protocol is spoken here

	mu    sync.Mutex
	calls int
	going sync.WaitGroup // of calls
	ended bool
	once  sync.Once

	making  sync.Mutex // held while the sandbox is made
	sandbox string
	living  living
}

var (
	errEnded = errors.New("the MCP session has ended")
	errGone  = errors.New("the HTTP client has gone")
)

// open returns a session with its own SDK server; id identifies it to HTTP clients.
func (s *Server) open(c engine.Caller, id string) *session {
	x := &session{Server: s, id: id}
	x.caller.Store(&c)
	x.ctx, x.cancel = context.WithCancelCause(context.Background())
	x.server = sdk.NewServer(&sdk.Implementation{Name: s.name, Title: "brig: a jail for untrusted code",
		Version: s.Version}, &sdk.ServerOptions{
		Instructions: instructions,
		Logger:       slog.New(quiet{s.Logger.Handler()}),
		Capabilities: &sdk.ServerCapabilities{},
		GetSessionID: func() string { return id },
	})
	x.server.AddReceivingMiddleware(x.watch)
	for _, t := range s.tools {
		x.server.AddTool(x.described(t), x.handler(t))
	}
	return x
}

// quiet is a log handler that passes only warnings and errors: the SDK also logs each connection several times.
type quiet struct{ slog.Handler }

// Enabled implements slog.Handler.
func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && q.Handler.Enabled(ctx, l)
}

const instructions = "Runs code and commands that nobody trusts in a jail on the server's machine. All tools of " +
	"this session share one " +
	"work area: /input (read-only for programs), /work (the working directory) and /output; files there stay until " +
	"the session ends. " +
	"Programs see the machine's programs in /usr, no other files, and no network unless a call names " +
	"what may be reached. " +
	"A result with isError says what went wrong, and next_steps how to go on."

// watch records the connection of the session, so that the session ends with it.
func (x *session) watch(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if conn, ok := req.GetSession().(*sdk.ServerSession); ok && x.bound.CompareAndSwap(false, true) {
			go func() {
				_ = conn.Wait() // the SDK has logged the reason
				x.end()
			}()
		}
		return next(ctx, method, req)
	}
}

// begin registers a call. Its context ends with the session. The caller must call done.
func (x *session) begin(ctx context.Context) (_ context.Context, done func(), no *job.Refusal) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return nil, nil, refuse("sandbox", "session_ended", "", "the session has ended", "Begin a new session.")
	}
	if x.calls >= x.bounds.calls {
		return nil, nil, refuse("quota", "too_many_calls", "", fmt.Sprintf("%d calls of this session run already", x.calls),
			"Wait for one of them to end, or cancel it, and call again.")
	}
	x.calls++
	x.going.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(x.ctx, func() { cancel(errEnded) })
	return ctx, func() {
		stop()
		cancel(nil)
		x.mu.Lock()
		x.calls--
		x.mu.Unlock()
		x.going.Done()
	}, nil
}

// end cancels the session's calls, waits for them and removes its sandbox. Every caller of end returns only after that.
func (x *session) end() {
	x.once.Do(func() {
		x.mu.Lock()
		x.ended = true
		x.mu.Unlock()
		x.cancel(errEnded)
		x.going.Wait()
		if x.sandbox != "" { // no call is left that could change it
			if err := x.Engine.DeleteSandbox(x.who(), x.sandbox); err != nil {
				x.Logger.Error("the sandbox of an MCP session is not removed", "sandbox", x.sandbox, "err", err)
			}
		}
		x.Server.mu.Lock()
		defer x.Server.mu.Unlock()
		delete(x.sessions, x.id)
	})
}

// close ends the session from this side of the connection.
func (x *session) close() {
	x.end()
	for conn := range x.server.Sessions() {
		_ = conn.Close() // the reason is this call
	}
}

// who returns the caller, with the rights of the last authenticated request of the session.
func (x *session) who() engine.Caller { return *x.caller.Load() }

// box returns the id of the session's sandbox, which it creates if necessary.
func (x *session) box(ctx context.Context) (string, *job.Refusal) {
	x.making.Lock()
	defer x.making.Unlock()
	if x.sandbox != "" {
		return x.sandbox, nil
	}
	info, err := x.Engine.CreateSandbox(ctx, x.who(), &engine.SandboxRequest{})
	if err != nil {
		return "", asRefusal(err)
	}
	x.sandbox = info.ID
	return info.ID, nil
}

// lost forgets a sandbox that has expired, so that the next call gets a new one, and returns a refusal that tells it.
func (x *session) lost(id string, no *job.Refusal) *job.Refusal {
	if id == "" || no.Layer != "sandbox" {
		return no
	}
	if _, err := x.Engine.Sandbox(x.who(), id); err == nil {
		return no // it concerns a file
	}
	x.making.Lock()
	defer x.making.Unlock()
	if x.sandbox == id {
		x.sandbox = ""
	}
	again := *no
	again.NextSteps = []string{"The session's work area has expired and its files are gone. Call again: you get a " +
		"new, empty one."}
	return &again
}

// asRefusal converts an error of the engine to the form that a model reads.
func asRefusal(err error) *job.Refusal {
	if no, ok := errors.AsType[*job.Refusal](err); ok {
		return no
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, errEnded) || errors.Is(err, errGone) {
		return refuse("request", "cancelled", "", "the call was cancelled", "Call again if you still need the result.")
	}
	return refuse("jail", "failed", "", err.Error(), "Tell the operator of the server.")
}
