package mcp

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"time"

	"brig/agent/engine"
	"brig/cmd/brigd/internal/body"
	"brig/nsjail"
)

// maxHeld is the memory in bytes that the bodies of all requests share, unless four of the largest need more.
const maxHeld = 256 << 20

var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

// visit is one HTTP request in progress, with time limits for its body and for each piece of the answer.
type visit struct {
	http.ResponseWriter
	s     *Server
	r     *http.Request
	ctl   *http.ResponseController
	taken bool // the whole body has been read
	// release returns the memory of the body to the budget.
	release func()

	// for the log
	request, route, agent, code string
	status                      int
}

// statusGone is logged if the client disconnected before it was answered.
const statusGone = 499

// visited answers one request by serve, or with the refusal and the status that serve returns, and writes a log line.
func (s *Server) visited(w http.ResponseWriter, r *http.Request, route string,
	serve func(*visit) (int, *nsjail.Refusal)) {
	start := time.Now()
	v := &visit{ResponseWriter: w, s: s, r: r, ctl: http.NewResponseController(w), route: route,
		agent: engine.Local, status: statusGone, release: func() {}}
	if v.request = r.Header.Get("X-Request-Id"); !idPattern.MatchString(v.request) {
		v.request = rand.Text()
	}
	defer v.log(start)
	defer func() { v.release() }()
	defer v.writeTime(s.o.WriteTime) // for buffered data; the next request on the connection sets a new one
	v.writeTime(0)                   // removes that of the previous request on the connection
	h := w.Header()
	h.Set("X-Request-Id", v.request)
	h.Set("X-Content-Type-Options", "nosniff")
	if status, no := serve(v); no != nil {
		v.code = no.Code
		h.Set("Cache-Control", "no-store")
		refuseHTTP(v, r, status, no)
	}
}

// log writes one line. Text chosen by the client is only in values, which slog's handlers quote.
func (v *visit) log(start time.Time) {
	attrs := []slog.Attr{slog.String("request", v.request), slog.String("method", v.r.Method),
		slog.String("route", v.route), slog.Int("status", v.status),
		slog.Duration("took", time.Since(start)), slog.String("agent", v.agent)}
	if v.code != "" {
		attrs = append(attrs, slog.String("code", v.code))
	}
	v.s.o.Logger.LogAttrs(v.r.Context(), slog.LevelInfo, "request", attrs...)
}

// WriteHeader starts the answer. If the body has not been read, the rest of it has one second to arrive, since net/http
// waits for it, and the connection is closed.
func (v *visit) WriteHeader(status int) {
	if v.status == statusGone && status >= 200 {
		v.status = status
		if v.r.ContentLength != 0 && !v.taken {
			v.Header().Set("Connection", "close")
			v.readTime(min(time.Second, v.s.o.BodyTime))
		}
	}
	v.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (v *visit) Write(p []byte) (int, error) {
	if v.status == statusGone {
		v.WriteHeader(http.StatusOK)
	}
	v.writeTime(v.s.o.WriteTime)
	defer v.writeTime(0)
	return v.ResponseWriter.Write(p)
}

// FlushError supports http.ResponseController.
func (v *visit) FlushError() error {
	if v.status == statusGone {
		v.WriteHeader(http.StatusOK)
	}
	v.writeTime(v.s.o.WriteTime)
	defer v.writeTime(0)
	return v.ctl.Flush()
}

// Unwrap supports http.ResponseController.
func (v *visit) Unwrap() http.ResponseWriter { return v.ResponseWriter }

// writeTime sets the deadline for the client to read what is written; 0 means none. It fails only on a closed
// connection, and if there is no connection.
func (v *visit) writeTime(d time.Duration) { _ = v.ctl.SetWriteDeadline(deadline(d)) }

// readTime sets the deadline for reading in the same way.
func (v *visit) readTime(d time.Duration) { _ = v.ctl.SetReadDeadline(deadline(d)) }

func deadline(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Now().Add(d)
}

// read reads the whole body, within its size, its time and the shared memory budget, and sets it as the request's body.
func (v *visit) read(key string) (int, *nsjail.Refusal) {
	limits := body.Limits{Most: int64(v.s.o.MaxMessage), Time: v.s.o.BodyTime}
	text, release, err := v.s.bodies.Read(key, v.r, v.ctl, limits)
	v.release = release
	switch {
	case err == nil:
		v.taken = true
		v.readTime(0) // net/http now reads the connection to detect its end
		v.r.Body = io.NopCloser(bytes.NewReader(text))
		if trimmed := bytes.TrimLeft(text, " \t\r\n"); json.Valid(trimmed) && v.r.Method == http.MethodPost {
			if _, wrong := open(trimmed); wrong != "" {
				return http.StatusBadRequest, refuse("request", "invalid_message", "body",
					"this is no message that all would read alike: "+wrong,
					"Send one message of JSON-RPC 2.0 in each request, whose id is a text or an integer.")
			}
		}
		return 0, nil
	case errors.Is(err, body.ErrTooLarge):
		return http.StatusRequestEntityTooLarge, refuse("request", "body_too_large", "body",
			fmt.Sprintf("the body has more than %d bytes", v.s.o.MaxMessage), "Send less, or a file in parts.")
	case errors.Is(err, body.ErrNoBudget):
		return http.StatusTooManyRequests, refuse("queue", "body_budget", "body", err.Error(),
			"Send the same request again in a second.")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout, refuse("request", "body_timeout", "body",
			"the body took too long to arrive", "Send it faster, or in smaller requests.")
	default:
		return http.StatusBadRequest, refuse("request", "body_broken", "body",
			"the body ended before its announced end, or is not framed as HTTP says", "Send the request again.")
	}
}

func refuse(layer, code, rule, message string, next ...string) *nsjail.Refusal {
	return &nsjail.Refusal{Message: message, Code: code, Layer: layer, Rule: rule, NextSteps: next}
}

func refuseHTTP(w http.ResponseWriter, r *http.Request, status int, no *nsjail.Refusal) {
	text, err := json.Marshal(no)
	if err != nil {
		status, text = http.StatusInternalServerError,
			[]byte(`{"error":"brigd could not write its answer as JSON","code":"internal","layer":"jail"}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)+1))
	switch {
	case no.Code == "too_many_requests" || no.Code == "body_budget":
		h.Set("Retry-After", "1")
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		h.Set("Retry-After", "5")
	case status == http.StatusUnauthorized:
		challenge := `Bearer realm="brigd"`
		if len(r.Header.Values("Authorization")) > 0 {
			challenge += `, error="invalid_token"`
		}
		h.Set("WWW-Authenticate", challenge)
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // an error means that the client has disconnected
}
