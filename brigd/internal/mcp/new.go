package mcp

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/brigd/internal/front"
	"brig/brigd/internal/tools"
)

// New returns a Server. The file toolsFile declares more tools, unless it is "": see package tools. Close ends the
// sessions.
func New(o front.Options, toolsFile string) (*Server, error) {
	return newServer(o, toolsFile, bounds{idle: 30 * time.Minute, stop: 5 * time.Second, sessions: 128, perCaller: 32,
		calls: 16})
}

func newServer(o front.Options, toolsFile string, b bounds) (*Server, error) {
	s := &Server{Face: front.New(o), bounds: b, name: "brig", tools: builtin(), sessions: map[string]*session{}}
	if o.Changes {
		s.tools = append(s.tools, changeTools(o.Apply)...)
	}
	if o.Links != nil {
		s.tools = append(s.tools, portTools()...)
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
