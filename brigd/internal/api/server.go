package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"brig/brigd/internal/front"
)

type server struct {
	*front.Face
	routes  []route
	openapi []byte
	runs    sync.Map // *run by its id, as long as it is streamed
}

// call is one request in progress.
type call struct {
	*server
	*front.Visit
	route *route
	id    string // of the path: a sandbox or a run
	path  string // of a file, absolute, as the jail sees it
	query url.Values
	asked bool // the gate has been asked
}

var agentPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// New returns the handler.
func New(o front.Options) http.Handler { return newServer(o) }

func newServer(o front.Options) *server {
	return &server{Face: front.New(o), routes: routes(), openapi: OpenAPI(o.Version)}
}

// HTTPServer returns a server for h with limits for the time before a handler runs: 10 s and 32 KiB for the headers,
// and two minutes between requests (5 s by TCP until the first authenticated request: package listen). The handler sets
// those for bodies and answers.
func HTTPServer(h http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{Handler: h, DisableGeneralOptionsHandler: true, ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn)}
}

// ServeHTTP answers one request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Serve(w, r, func(v *front.Visit) error {
		c := &call{server: s, Visit: v}
		c.Header().Set("Cache-Control", "no-store")
		return c.serve()
	})
}

func (c *call) serve() error {
	if err := c.Guard("X-Request-Id, X-Run-Id, Retry-After, Location"); err != nil {
		return err
	}
	found, other, bad := c.match()
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

// no returns a refusal.
var no = front.Refuse

// authenticate determines the caller. A TCP client must present a certificate or a token, even if the authenticator
// requires none.
func (c *call) authenticate() error {
	shows := len(c.R.Header.Values("Authorization")) > 0 || c.R.TLS != nil && len(c.R.TLS.VerifiedChains) > 0
	if !front.Local(c.R) && !shows {
		return no("auth", "authentication_required", "Authorization",
			"by TCP only those may call who show a token or a certificate",
			"send Authorization: Bearer TOKEN", "or use brigd's Unix socket")
	}
	if err := c.Authenticate(); err != nil {
		return err
	}
	values := c.R.Header.Values("X-Agent-Id")
	if len(values) > 1 {
		return no("request", "invalid_agent", "X-Agent-Id", "the header X-Agent-Id is there twice", "send it once")
	}
	return c.actFor(strings.Join(values, ""), "X-Agent-Id")
}

// actFor sets the agent that the request names.
func (c *call) actFor(agent, field string) error {
	switch {
	case agent == "" || agent == c.Caller.Agent:
		return nil
	case !agentPattern.MatchString(agent):
		return no("request", "invalid_agent", field, field+": this is no agent's name",
			"write a letter or digit, and after it at most 63 letters, digits, dots, hyphens and underscores")
	case c.Caller.Agent != "":
		return no("auth", "agent_mismatch", field,
			fmt.Sprintf("%s: you are %s, and cannot act for %s", field, strconv.Quote(c.Caller.Agent), strconv.Quote(agent)),
			"leave "+field+" out")
	}
	c.Caller.Agent = agent
	return nil
}

// preflight answers a browser's preflight request (the Fetch standard, CORS preflight).
func (c *call) preflight(methods []string) error {
	c.Header().Set("Access-Control-Allow-Methods", strings.Join(methods, ", "))
	c.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, X-Agent-Id, X-Request-Id")
	c.WriteHeader(http.StatusNoContent)
	return nil
}
