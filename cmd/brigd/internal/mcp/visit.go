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

	"brig/nsjail"
)

// maxHeld is the memory in bytes that the bodies of all requests share.
const maxHeld = 256 << 20

var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

// visit is one HTTP request on its way: its client has a time for the body and for each piece of the answer.
type visit struct {
	http.ResponseWriter
	s     *Server
	r     *http.Request
	ctl   *http.ResponseController
	held  int64 // of the memory, in bytes
	taken bool  // the whole body has been read

	// for the log
	request, route, agent, code string
	status                      int
}

// statusGone is what is logged where nobody has been answered.
const statusGone = 499

// visited answers one request by serve, or with the refusal and the status that it returns, and writes a line about it.
func (s *Server) visited(w http.ResponseWriter, r *http.Request, route string, serve func(*visit) (int, *nsjail.Refusal)) {
	start := time.Now()
	v := &visit{ResponseWriter: w, s: s, r: r, ctl: http.NewResponseController(w), route: route, status: statusGone}
	if v.request = r.Header.Get("X-Request-Id"); !idPattern.MatchString(v.request) {
		v.request = rand.Text()
	}
	defer v.log(start)
	defer func() { s.held.Add(-v.held) }()
	defer v.writeTime(s.o.WriteTime) // for what is still buffered; the next request on the connection sets its own
	v.writeTime(0)                   // the last request on the connection had one
	h := w.Header()
	h.Set("X-Request-Id", v.request)
	h.Set("X-Content-Type-Options", "nosniff")
	if status, no := serve(v); no != nil {
		v.code = no.Code
		h.Set("Cache-Control", "no-store")
		refuseHTTP(v, r, status, no)
	}
}

// log writes one line. What the client has chosen is in values only, which slog's handlers quote.
func (v *visit) log(start time.Time) {
	agent := v.agent
	if agent == "" {
		agent = "default"
	}
	attrs := []slog.Attr{slog.String("request", v.request), slog.String("method", v.r.Method), slog.String("route", v.route), slog.Int("status", v.status),
		slog.Duration("took", time.Since(start)), slog.String("agent", agent)}
	if v.code != "" {
		attrs = append(attrs, slog.String("code", v.code))
	}
	v.s.o.Logger.LogAttrs(v.r.Context(), slog.LevelInfo, "request", attrs...)
}

// WriteHeader starts the answer. A body that has not been read has a second to arrive, since net/http waits for it, and the
// connection is closed.
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

// Write is http.ResponseWriter's.
func (v *visit) Write(p []byte) (int, error) {
	if v.status == statusGone {
		v.WriteHeader(http.StatusOK)
	}
	v.writeTime(v.s.o.WriteTime)
	defer v.writeTime(0)
	return v.ResponseWriter.Write(p)
}

// FlushError is for http.ResponseController.
func (v *visit) FlushError() error {
	if v.status == statusGone {
		v.WriteHeader(http.StatusOK)
	}
	v.writeTime(v.s.o.WriteTime)
	defer v.writeTime(0)
	return v.ctl.Flush()
}

// Unwrap is for http.ResponseController.
func (v *visit) Unwrap() http.ResponseWriter { return v.ResponseWriter }

// writeTime gives the client so long to take what is written; 0 is for ever. It only fails on a connection that is gone, and
// where there is none.
func (v *visit) writeTime(d time.Duration) { _ = v.ctl.SetWriteDeadline(deadline(d)) }

// readTime is likewise for what is read.
func (v *visit) readTime(d time.Duration) { _ = v.ctl.SetReadDeadline(deadline(d)) }

func deadline(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Now().Add(d)
}

// body reads the whole of it, within its size, its time and the memory that all share, and makes it the request's.
func (v *visit) body() (int, *nsjail.Refusal) {
	most := int64(v.s.o.MaxMessage)
	if v.r.ContentLength > most {
		return tooLarge(most)
	}
	v.readTime(v.s.o.BodyTime)
	var text []byte
	for size := max(v.r.ContentLength+1, 512); ; size = int64(2 * cap(text)) {
		if size -= int64(cap(text)); !v.hold(size) {
			return http.StatusTooManyRequests, refuse("queue", "body_budget", "body", "the bodies of all requests together take as much memory as they may", "Send the same request again in a second.")
		}
		text = append(make([]byte, 0, int64(cap(text))+size), text...)
		for len(text) < cap(text) {
			n, err := v.r.Body.Read(text[len(text):cap(text)])
			text = text[:len(text)+n]
			switch {
			case int64(len(text)) > most:
				return tooLarge(most)
			case errors.Is(err, io.EOF):
				v.taken = true
				v.readTime(0) // from now on the connection is watched for its end
				v.r.Body = io.NopCloser(bytes.NewReader(text))
				return 0, nil
			case errors.Is(err, os.ErrDeadlineExceeded):
				return http.StatusRequestTimeout, refuse("request", "body_timeout", "body", "the body took too long to arrive", "Send it faster, or in smaller requests.")
			case err != nil:
				return http.StatusBadRequest, refuse("request", "body_broken", "body", "the body ended before its announced end, or is not framed as HTTP says", "Send the request again.")
			}
		}
	}
}

// hold takes memory until the request's end.
func (v *visit) hold(n int64) bool {
	if v.s.held.Add(n) > max(maxHeld, 4*int64(v.s.o.MaxMessage)) {
		v.s.held.Add(-n)
		return false
	}
	v.held += n
	return true
}

func tooLarge(most int64) (int, *nsjail.Refusal) {
	return http.StatusRequestEntityTooLarge, refuse("request", "body_too_large", "body", fmt.Sprintf("the body has more than %d bytes", most), "Send less, or a file in parts.")
}

func refuse(layer, code, rule, message string, next ...string) *nsjail.Refusal {
	return &nsjail.Refusal{Message: message, Code: code, Layer: layer, Rule: rule, NextSteps: next}
}

func refuseHTTP(w http.ResponseWriter, r *http.Request, status int, no *nsjail.Refusal) {
	text, err := json.Marshal(no)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"brigd could not write its answer as JSON","code":"internal","layer":"jail"}`)
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
	_, _ = w.Write(append(text, '\n')) // a client that has gone needs no answer
}
