package api

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"brig/agent/engine"
	"brig/cmd/brigd/internal/body"
	"brig/nsjail"
)

type server struct {
	Options
	routes  []route
	openapi []byte
	bodies  *body.Budget
	places  *body.Budget // of requests
	runs    registry
}

// call is one request in progress.
type call struct {
	*server
	w      http.ResponseWriter
	r      *http.Request
	ctl    *http.ResponseController
	route  *route
	caller engine.Caller
	id     string // of the path: a sandbox or a run
	path   string // of a file, absolute, as the jail sees it
	query  url.Values
	taken  bool // the whole body has been read
	asked  bool // the gate has been asked

	release func() // returns the memory of the body to the budget; nil if it has taken none

	// for the log
	request string
	status  int
	code    string
	run     string
	wrote   bool
	failed  error
}

var (
	idPattern    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)
	agentPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
)

// ServeHTTP answers one request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	c := &call{server: s, w: w, r: r, ctl: http.NewResponseController(w)}
	if c.request = r.Header.Get("X-Request-Id"); !idPattern.MatchString(c.request) {
		c.request = rand.Text()
	}
	h := w.Header()
	h.Set("X-Request-Id", c.request)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	defer c.log(start)
	defer c.recovered()
	if err := c.serve(); err != nil {
		c.fail(err)
	}
}

// recovered limits a panic in a handler to one request.
func (c *call) recovered() {
	if c.release != nil {
		c.release()
	}
	p := recover()
	if p == nil {
		return
	}
	if e, ok := p.(error); ok && errors.Is(e, http.ErrAbortHandler) {
		c.status = statusGone
		panic(http.ErrAbortHandler)
	}
	c.fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
}

// log writes one line for a request. Text chosen by the client is only in values, which slog's handlers quote.
func (c *call) log(start time.Time) {
	name, level := "", slog.LevelInfo
	if c.route != nil {
		name = c.route.id
	}
	if name == "health" || name == "metrics" {
		level = slog.LevelDebug // these are requested every few seconds
	}
	attrs := []slog.Attr{slog.String("request", c.request), slog.String("method", c.r.Method), slog.String("route", name),
		slog.Int("status", c.status),
		slog.Duration("took", time.Since(start)), slog.String("agent", c.caller.Name())}
	if c.run != "" {
		attrs = append(attrs, slog.String("run", c.run))
	}
	if c.code != "" {
		attrs = append(attrs, slog.String("code", c.code))
	}
	if c.failed != nil {
		attrs = append(attrs, slog.String("error", c.failed.Error()))
		if c.status >= 500 {
			level = slog.LevelError
		}
	}
	c.Logger.LogAttrs(c.r.Context(), level, "request", attrs...)
}

func (c *call) serve() error {
	if err := c.guard(); err != nil {
		return err
	}
	found, other, bad := c.match()
	if c.r.Method == http.MethodOptions && c.r.Header.Get("Origin") != "" {
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
		c.w.Header().Set("Allow", strings.Join(other, ", "))
		return no("request", "method_not_allowed", "method", "this path does not take "+shorten(c.r.Method),
			"use "+strings.Join(other, " or "))
	case found == nil:
		return no("request", "route_not_found", "path", "there is nothing at this path",
			"GET /openapi.json lists what there is")
	}
	c.route = found
	if err := c.checkQuery(); err != nil {
		return err
	}
	if !found.open {
		key := c.caller.Key() // a body may name another agent
		if !c.places.Take(key, 1) {
			return soon{no("queue", "too_many_requests", "requests", "as many requests are being answered as may be at once",
				"send the same request again in a second")}
		}
		defer c.places.Take(key, -1)
	}
	return found.handle(c)
}

// authenticate determines the caller. A TCP client must present a certificate or a token, even if the authenticator
// requires none.
func (c *call) authenticate() error {
	shows := len(c.r.Header.Values("Authorization")) > 0 || c.r.TLS != nil && len(c.r.TLS.VerifiedChains) > 0
	if !local(c.r) && (!shows || c.Authenticate == nil) {
		return no("auth", "authentication_required", "Authorization",
			"by TCP only those may call who show a token or a certificate",
			"send Authorization: Bearer TOKEN", "or use brigd's Unix socket")
	}
	if c.Authenticate != nil {
		caller, refused := c.Authenticate(c.r)
		if refused != nil {
			return unauthorized{refused}
		}
		c.caller = caller
	}
	values := c.r.Header.Values("X-Agent-Id")
	if len(values) > 1 {
		return no("request", "invalid_agent", "X-Agent-Id", "the header X-Agent-Id is there twice", "send it once")
	}
	if len(values) == 1 {
		return c.actFor(values[0], "X-Agent-Id")
	}
	return nil
}

// unauthorized is a refusal by the authenticator. Its status is 401, whatever its layer.
type unauthorized struct{ *nsjail.Refusal }

func (u unauthorized) Unwrap() error { return u.Refusal }

// actFor sets the agent that the request names.
func (c *call) actFor(agent, field string) error {
	switch {
	case agent == "" || agent == c.caller.Agent:
		return nil
	case !agentPattern.MatchString(agent):
		return no("request", "invalid_agent", field, field+": this is no agent's name",
			"write a letter or digit, and after it at most 63 letters, digits, dots, hyphens and underscores")
	case c.caller.Agent != "":
		return no("auth", "agent_mismatch", field,
			fmt.Sprintf("%s: you are %s, and cannot act for %s", field, strconv.Quote(c.caller.Agent), strconv.Quote(agent)),
			"leave "+field+" out")
	}
	c.caller.Agent = agent
	return nil
}

// local reports whether the request came by a Unix socket.
func local(r *http.Request) bool {
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return addr != nil && addr.Network() == "unix"
}

// guard refuses requests that a browser sends for foreign web pages.
func (c *call) guard() error {
	if !local(c.r) && !c.hostAllowed() {
		return no("request", "host_not_allowed", "Host", "this server is not called by that name",
			"call it by the address or a name that it was started with")
	}
	origin := c.r.Header.Values("Origin")
	if len(origin) == 0 {
		if site := c.r.Header.Get("Sec-Fetch-Site"); site != "" && site != "none" && site != "same-origin" {
			return no("auth", "origin_not_allowed", "Sec-Fetch-Site", "a browser has sent this for another site's page",
				"call brigd from a program")
		}
		return nil
	}
	if len(origin) > 1 || !slices.Contains(c.Origins, origin[0]) {
		return no("auth", "origin_not_allowed", "Origin", "pages of this origin may not call",
			"call brigd from a program, or start it with this origin allowed")
	}
	h := c.w.Header()
	h.Set("Access-Control-Allow-Origin", origin[0])
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "X-Request-Id, X-Run-Id, Retry-After, Location")
	return nil
}

// preflight answers a browser's preflight request (the Fetch standard, CORS preflight).
func (c *call) preflight(methods []string) error {
	h := c.w.Header()
	h.Set("Access-Control-Allow-Methods", strings.Join(methods, ", "))
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, X-Agent-Id, X-Request-Id")
	c.head(http.StatusNoContent)
	return nil
}

func (c *call) hostAllowed() bool {
	host := c.r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || slices.Contains(c.Hosts, host) {
		return true
	}
	addr, _ := c.r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	ip := net.ParseIP(host)
	return addr != nil && ip != nil && ip.Equal(addr.IP)
}

// head starts the answer. The unread part of the body, which net/http reads in order to reuse the connection, has one
// second to arrive.
func (c *call) head(status int) {
	if c.r.ContentLength != 0 && !c.taken {
		_ = c.ctl.SetReadDeadline(time.Now().Add(min(time.Second, c.BodyTime))) // fails only on a closed connection
	}
	c.status, c.wrote = status, true
	c.w.WriteHeader(status)
}

// writeTime sets the deadline for the client to read what is written next.
func (c *call) writeTime() {
	if err := c.ctl.SetWriteDeadline(time.Now().Add(c.WriteTime)); err != nil && !errors.Is(err, http.ErrNotSupported) &&
		!errors.Is(err, os.ErrClosed) {
		c.failed = err
	}
}
