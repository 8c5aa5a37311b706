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
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"brig/agent/engine"
	"brig/cmd/brigd/internal/tools"
	"brig/nsjail"
)

// Engine is what the tools need of engine.Engine.
type Engine interface {
	Run(ctx context.Context, c engine.Caller, r *engine.Request, stream func(engine.Event)) *engine.Response
	Languages() []engine.Language
	CreateSandbox(ctx context.Context, c engine.Caller, r *engine.SandboxRequest) (*engine.SandboxInfo, error)
	Sandbox(c engine.Caller, id string) (*engine.SandboxInfo, error)
	DeleteSandbox(c engine.Caller, id string) error
	PutFile(c engine.Caller, id, path string, r io.Reader, mode fs.FileMode) (*engine.FileInfo, error)
	GetFile(c engine.Caller, id, path string) (io.ReadCloser, *engine.FileInfo, error)
	ListFiles(c engine.Caller, id, path string, recursive bool, after string) ([]engine.FileInfo, bool, error)
	DeleteFile(c engine.Caller, id, path string) error
}

// Gate admits runs. Enter waits for a run's turn; the run calls release when it has ended, perhaps twice. A
// *nsjail.Refusal in the error goes to the model.
type Gate interface {
	Enter(ctx context.Context, c engine.Caller) (release func(), err error)
}

// Options are what a server is made of. Engine is needed; other zero fields have the defaults in parentheses.
type Options struct {
	Engine Engine
	// Gate is entered by each run (every run starts at once).
	Gate Gate
	// ToolsFile declares more tools: see package tools (none).
	ToolsFile string
	// Version is the server's ("unknown").
	Version string
	// Logger gets a line for each HTTP request, and what happens to sessions (nothing is logged). Over stdio it must not
	// write to stdout.
	Logger *slog.Logger

	// Local is who a session over stdio acts for, and In and Out are its streams (stdin, stdout).
	Local engine.Caller
	In    io.ReadCloser
	Out   io.WriteCloser

	// Caller returns who sends an HTTP request, from what the middleware in front of the Handler has put into it (the zero
	// Caller). A session belongs to the Agent of the request that began it and to its Authorization header, if it has one:
	// to anybody else it does not exist.
	Caller func(*http.Request) (engine.Caller, *nsjail.Refusal)
	// Hosts are the names, without port, by which a TCP client may call, besides localhost and the address that it has
	// reached: a name that a web page has made lead here is none of them.
	Hosts []string
	// Origins are the web pages, as "https://example.org", whose scripts may call (none).
	Origins []string
	// IdleTimeout is how long a session over HTTP lives without a request (30 minutes).
	IdleTimeout time.Duration
	// MaxSessions bounds the sessions over HTTP (128), and MaxSessionsPerCaller those of one caller (32).
	MaxSessions, MaxSessionsPerCaller int

	// MaxRequests bounds the HTTP requests that are answered at the same time, streams among them (1024).
	MaxRequests int
	// BodyTime is how long the body of an HTTP request may take to arrive, with a second more for each MiB (30 s).
	// WriteTime is how long a client may take for each piece of an answer (30 s).
	BodyTime, WriteTime time.Duration

	// MaxCalls bounds the calls of a session that run at the same time (16).
	MaxCalls int
	// MaxMessage bounds a message from a client, in bytes (8 MiB).
	MaxMessage int
	// Sandbox is what a session's sandbox is made from (the engine's defaults).
	Sandbox engine.SandboxRequest
}

// The bounds of what one call may return, in bytes and in number of files; a call may ask for less.
const (
	defaultOutput = 64 << 10 // of stdout and of stderr
	maxOutput     = 4 << 20  // likewise, whatever a client asks for
	defaultRead   = 128 << 10
	maxRead       = 1 << 20
	maxListed     = 1000
)

// service holds what all sessions share.
type service struct {
	o     Options
	tools []*tool
	name  string
	// requests are the contexts of the HTTP requests that are being served, by a key that their calls carry.
	requests sync.Map
}

func newService(o Options) (*service, error) {
	if o.Engine == nil {
		return nil, errors.New("mcp: there is no engine; set Options.Engine")
	}
	set := func(n *int, to int) {
		if *n <= 0 {
			*n = to
		}
	}
	set(&o.MaxSessions, 128)
	set(&o.MaxSessionsPerCaller, 32)
	set(&o.MaxRequests, 1024)
	set(&o.MaxCalls, 16)
	set(&o.MaxMessage, 8<<20)
	wait := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	wait(&o.IdleTimeout, 30*time.Minute)
	wait(&o.BodyTime, 30*time.Second)
	wait(&o.WriteTime, 30*time.Second)
	if o.Version == "" {
		o.Version = "unknown"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Caller == nil {
		o.Caller = func(*http.Request) (engine.Caller, *nsjail.Refusal) { return engine.Caller{}, nil }
	}
	s := &service{o: o, name: "brig"}
	s.tools = s.builtin()
	if o.ToolsFile == "" {
		return s, nil
	}
	declared, err := tools.Load(o.ToolsFile)
	if err != nil {
		return nil, err
	}
	if declared.Name != "" {
		s.name = declared.Name
	}
	return s, s.declare(declared)
}
