package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/config"
	"brig/brigd/internal/front"
	"brig/brigd/internal/mcp"
	"brig/internal/cli"
)

// tokenVar names the variable with the capability token of the client on stdin.
const tokenVar = "BRIGD_TOKEN"

// serveMCP runs brigd mcp.
func serveMCP(c *config.Config, std cli.Stdio) int {
	if c.MCP.HTTP {
		return runService(c, std, (*service).mcp)
	}
	return mcpStdio(c, std)
}

// options returns the options that HTTP, MCP over HTTP, and MCP over stdio have in common.
func (p *daemon) options() front.Options {
	o := front.Options{Engine: p.served(), Gate: p.trace.Gate(p.gate), Version: version, Logger: p.log,
		MaxBody: int64(p.c.HTTP.MaxBody), Changes: p.c.Shares.HasCOW(), Apply: p.c.Shares.AllowApply}
	o.Record = engine.NewRecorder(p.audit)
	o.OutputSchemas = p.c.MCP.OutputSchemas == "on"
	if p.queued.front != nil {
		o.Queue = p.queued.front
	}
	return o
}

// mcp returns the HTTP handler for /mcp, /healthz and /metrics.
func (d *service) mcp() (http.Handler, error) {
	s, err := mcp.New(d.options(), d.c.MCP.Tools)
	if err != nil {
		return nil, err
	}
	d.ended = append(d.ended, s.Close)
	watched := d.api()
	nothing := s.Elsewhere()
	// Not http.ServeMux: the answers that it writes itself, such as redirections, wait for the request's body without a
	// limit.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case d.links.Below(r.Host): // whatever its path: it is a port's
			watched.ServeHTTP(w, r)
		case path == "/mcp":
			s.ServeHTTP(w, r)
		case path == "/healthz", path == "/metrics", path == "/v1/version":
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
	if err == nil {
		err = p.stdio(ctx, std)
		err = cmp.Or(err, p.close(ctx))
	}
	if err != nil {
		return fail(std, "mcp: "+err.Error())
	}
	return 0
}

func (p *daemon) stdio(ctx context.Context, std cli.Stdio) error {
	caller, err := p.onStdin()
	if err != nil {
		return err
	}
	s, err := mcp.New(p.options(), p.c.MCP.Tools)
	if err != nil {
		return err
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
	return err
}

// onStdin returns the caller of MCP over stdio: the holder of the token in $BRIGD_TOKEN, or the agent of --agent.
func (p *daemon) onStdin() (engine.Caller, error) {
	bearer := os.Getenv(tokenVar)
	if bearer == "" {
		return engine.Caller{Agent: p.c.MCP.Agent}, nil
	}
	if err := os.Unsetenv(tokenVar); err != nil {
		return engine.Caller{}, err
	}
	if len(p.c.Sockets.TokenKeys) == 0 {
		return engine.Caller{}, errors.New("$" + tokenVar + " is set and nothing can check it; add --token-key FILE and " +
			"--state-dir DIR")
	}
	caller, no := p.engine.Authenticate(bearer, time.Now())
	if no != nil {
		return caller, fmt.Errorf("$%s: %w", tokenVar, no)
	}
	if p.c.MCP.Agent != "" && caller.Agent != p.c.MCP.Agent {
		return caller, errors.New("--agent is another than the token's; leave it out")
	}
	return caller, nil
}
