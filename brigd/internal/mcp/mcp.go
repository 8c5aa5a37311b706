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
	"net/http"
	"sync"
	"time"

	"brig/brigd/internal/front"
)

// The bounds of what one call may return, in bytes and in number of files; a call may ask for less.
const (
	defaultOutput = 64 << 10 // of stdout and of stderr
	defaultRead   = 128 << 10
	maxRead       = 1 << 20
	maxListed     = 1000
)

// bounds are those of sessions: how long one over HTTP lives without a request, how long a process has to end after
// SIGTERM, how many sessions there are over HTTP in all and of one caller, and how many calls of one run at the same
// time.
type bounds struct {
	idle, stop                 time.Duration
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
