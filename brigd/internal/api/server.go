package api

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"brig/brigd/internal/front"
)

type server struct {
	*front.Face
	handlers *handlers
	routes   []route
}

// New returns the handler.
func New(o front.Options) http.Handler { return newServer(o) }

func newServer(o front.Options) *server {
	f := front.New(o)
	h := newHandlers(&f.Options)
	h.meta.openapi = OpenAPI(o.Version)
	return &server{f, h, routes(h)}
}

// HTTPServer returns a server for h with limits for the time before a handler runs: 10 s and 32 KiB for the headers,
// and two minutes between requests (5 s by TCP until the first authenticated request: package listen). The handler sets
// those for bodies and answers.
func HTTPServer(h http.Handler, logger *slog.Logger) *http.Server {
	s := &http.Server{Handler: h, DisableGeneralOptionsHandler: true, ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn)}
	ending, end := context.WithCancel(context.Background())
	s.RegisterOnShutdown(end)
	base := context.WithValue(context.Background(), endingKey{}, ending)
	s.BaseContext = func(net.Listener) context.Context { return base }
	return s
}

// ServeHTTP answers one request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Serve(w, r, func(v *front.Visit) error {
		c := &call{Visit: v}
		c.Header().Set("Cache-Control", "no-store")
		if s.Links.Below(r.Host) {
			return s.handlers.ports.atOrigin(c) // brigd's own routes are at no name of the site's
		}
		return s.serve(c)
	})
}

func (s *server) serve(c *call) error {
	if err := c.Guard("X-Request-Id, X-Run-Id, Retry-After, Location"); err != nil {
		return err
	}
	found, other, bad := c.match(s.routes)
	if c.R.Method == http.MethodOptions && c.R.Header.Get("Origin") != "" {
		return c.preflight(other)
	}
	if found == nil || !found.open {
		if err := c.authenticate(); err != nil {
			return err
		}
	}
	switch {
	case bad != nil:
		return bad
	case found == nil && len(other) > 0:
		c.Header().Set("Allow", strings.Join(other, ", "))
		return no("request", "method_not_allowed", "method", "this path does not take "+shorten(c.R.Method),
			"use "+strings.Join(other, " or "))
	case found == nil:
		return no("request", "route_not_found", "path", "there is nothing at this path",
			"GET /openapi.json lists what there is")
	}
	c.route, c.Route, c.Level = found, found.id, found.level
	if err := c.checkQuery(); err != nil {
		return err
	}
	if !found.open {
		leave, err := c.Place()
		if err != nil {
			return err
		}
		defer leave()
	}
	body, err := found.handle(c)
	switch {
	case err != nil || c.Wrote():
		return err
	case found.status == http.StatusNoContent:
		c.WriteHeader(found.status)
	default:
		c.Answer(found.status, body)
	}
	return nil
}
