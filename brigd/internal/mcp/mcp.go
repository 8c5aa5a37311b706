// Package mcp serves the engine through the Model Context Protocol, over stdio or streamable HTTP. Only this package
// imports the protocol's go-sdk.
//
// Each MCP session has a sandbox, created when the first tool needs it and removed when the session ends. /input, /work
// and /output persist between calls, so that write_file, run_code, run_command, the declared tools, read_file and
// list_files all access the same files. No argument names a sandbox, so no session can access another's. A program that
// fails and a request that is refused are results with isError, which a model can read and act on. Protocol errors are
// used only for violations of the protocol. A cancelled call, the end of a session and the disconnect of an HTTP client
// end the jail.
package mcp

import (
	"cmp"
	"log/slog"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/brigd/internal/front"
	"brig/brigd/internal/tools"
)

// The bounds of what one call may return, in bytes and in number of files; a call may ask for less.
const (
	defaultOutput = 64 << 10 // of stdout and of stderr
	defaultRead   = 128 << 10
	maxRead       = 1 << 20
	maxListed     = 1000
)

// bounds are those of sessions: how long one over HTTP lives without a request, how many there are over HTTP in all and
// of one caller, and how many calls of one run at the same time.
type bounds struct {
	idle                       time.Duration
	sessions, perCaller, calls int
}

// Server serves MCP over streamable HTTP, or one session over stdio.
type Server struct {
	*front.Face
	bounds
	tools []*tool
	name  string
	inner http.Handler
	// requests are the contexts of the HTTP requests that are being served, by a key that their calls carry.
	requests sync.Map

	mu       sync.Mutex
	sessions map[string]*session
	closed   bool
}

// New returns a Server. The file toolsFile declares more tools, unless it is "": see package tools. Close ends the
// sessions.
func New(o front.Options, toolsFile string) (*Server, error) {
	return newServer(o, toolsFile, bounds{idle: 30 * time.Minute, sessions: 128, perCaller: 32, calls: 16})
}

func newServer(o front.Options, toolsFile string, b bounds) (*Server, error) {
	s := &Server{Face: front.New(o), bounds: b, name: "brig", tools: builtin(), sessions: map[string]*session{}}
	if o.Changes {
		s.tools = append(s.tools, changeTools(o.Apply)...)
	}
	s.inner = sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		x, _ := r.Context().Value(sessionKey{}).(*session)
		if x == nil {
			return nil
		}
		return x.server
	}, &sdk.StreamableHTTPOptions{Logger: slog.New(quiet{o.Logger.Handler()}), SessionTimeout: b.idle,
		MaxRequestBodyBytes: o.MaxBody, DisableLocalhostProtection: true}) // ours is stricter, and knows Options.Hosts
	if toolsFile == "" {
		return s, nil
	}
	declared, err := tools.Load(toolsFile)
	if err != nil {
		return nil, err
	}
	s.name = cmp.Or(declared.Name, s.name)
	return s, s.declare(declared, toolsFile)
}
