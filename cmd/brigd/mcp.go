package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"brig/agent/engine"
	"brig/cmd/brigd/internal/config"
	"brig/cmd/brigd/internal/front"
	"brig/cmd/brigd/internal/mcp"
	"brig/internal/cli"
	"brig/nsjail"
)

// tokenVar names the variable with the capability token of the client on stdin.
const tokenVar = "BRIGD_TOKEN"

// serveMCP runs brigd mcp.
func serveMCP(c *config.Config, std cli.Stdio) int {
	if c.HTTP {
		return runService(c, std, (*service).mcp)
	}
	return mcpStdio(c, std)
}

// options returns what both faces over HTTP, and MCP over stdio, are made of.
func (p *daemon) options() front.Options {
	return front.Options{Engine: p.served(), Gate: p.trace.Gate(p.gate), Version: version, Logger: p.log,
		MaxBody: int64(p.c.MaxBody)}
}

// mcp returns the HTTP handler for /mcp, /healthz and /metrics.
func (d *service) mcp() (http.Handler, error) {
	s, err := mcp.New(d.options(), d.c.Tools)
	if err != nil {
		return nil, err
	}
	d.ended = append(d.ended, s.Close)
	watched := d.api()
	nothing := s.Elsewhere()
	// Not http.ServeMux: the answers that it writes itself, such as redirections, wait for the request's body without a
	// limit.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/mcp":
			s.ServeHTTP(w, r)
		case "/healthz", "/metrics", "/v1/version":
			watched.ServeHTTP(w, r)
		default:
			nothing.ServeHTTP(w, r)
		}
	}), nil
}

// mcpStdio serves one client on stdin and stdout.
func mcpStdio(c *config.Config, std cli.Stdio) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	p, err := assemble(ctx, c, newLogger(std.Err, c))
	if err != nil {
		return fail(std, "mcp: "+err.Error())
	}
	code := p.stdio(ctx, std)
	if err := p.close(ctx); err != nil {
		return fail(std, "mcp: "+err.Error())
	}
	return code
}

func (p *daemon) stdio(ctx context.Context, std cli.Stdio) int {
	caller := engine.Caller{Agent: p.c.Agent}
	if bearer := os.Getenv(tokenVar); bearer != "" {
		if err := os.Unsetenv(tokenVar); err != nil {
			return fail(std, "mcp: "+err.Error())
		}
		if len(p.c.TokenKeys) == 0 {
			return fail(std, "mcp: $"+tokenVar+" is set and nothing can check it; add --token-key FILE and --state-dir DIR")
		}
		var no *nsjail.Refusal
		if caller, no = p.engine.Authenticate(bearer, time.Now()); no != nil {
			return fail(std, "mcp: $"+tokenVar+": "+no.Error())
		}
		if p.c.Agent != "" && caller.Agent != p.c.Agent {
			return fail(std, "mcp: --agent is another than the token's; leave it out")
		}
	}
	s, err := mcp.New(p.options(), p.c.Tools)
	if err != nil {
		return fail(std, "mcp: "+err.Error())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-p.launcher.gone:
			cancel(err)
		case <-ctx.Done():
		}
	}()
	err = s.ServeStdio(ctx, caller, std.In, std.Out)
	if cause := context.Cause(ctx); err == nil && errors.Is(cause, errLauncherGone) {
		err = cause
	}
	if err != nil {
		return fail(std, "mcp: "+err.Error())
	}
	return 0
}
