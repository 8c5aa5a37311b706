package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"brig/cmd/brigd/internal/schema"
	"brig/nsjail"
)

// statuses maps codes to their HTTP status; other codes have the status of their layer.
var statuses = map[string]int{
	// codes of this package
	"route_not_found": 404, "run_unknown": 404, "method_not_allowed": 405, "not_acceptable": 406, "body_timeout": 408,
	"stdin_closed": 409, "stdin_not_streamed": 409, "body_too_large": 413, "unsupported_media_type": 415,
	"host_not_allowed": 421, "origin_not_allowed": 403, "agent_mismatch": 403, "body_budget": 429,
	"too_many_requests": 503,
	// codes of the gate
	"draining": 503,
	// codes of the engine
	"other_agent": 403, "sandbox_unknown": 404, "files_too_large": 413, "too_many_files": 413, "stdin_too_large": 413,
	"bad_request": 400, "command_not_runnable": 422, "host_lacks": 501,
	// codes of the sandboxes
	"bad_path": 400, "bad_agent": 400, "bad_option": 400, "outside_sandbox": 403, "symlink": 403, "permission_denied": 403,
	"not_found": 404, "too_large": 413, "too_many_sandboxes": 429, "too_much_work": 503, "disk_full": 507,
	"out_of_sandbox_space": 507,
	// temporary errors: see again
	"token_ledger": 503, "audit_unavailable": 503, "machine_full": 503,
}

// again is the number of seconds after which to retry a temporary error.
var again = map[string]int{"token_ledger": 5, "audit_unavailable": 5, "machine_full": 5, "too_much_work": 1}

// layers maps layers to their HTTP status.
var layers = map[string]int{"request": 400, "auth": 401, "token": 403, "policy": 403, "quota": 429, "queue": 429,
	"sandbox": 409, "jail": 500}

// statusOf returns the HTTP status of a refusal.
func statusOf(r *nsjail.Refusal) int {
	if s := statuses[r.Code]; s != 0 {
		return s
	}
	if s := layers[r.Layer]; s != 0 {
		return s
	}
	return http.StatusInternalServerError
}

// no returns a refusal with this package's wording.
func no(layer, code, rule, message string, next ...string) *nsjail.Refusal {
	return &nsjail.Refusal{Message: message, Code: code, Layer: layer, Rule: rule, NextSteps: next}
}

// refusalOf converts any error to a refusal. An error that is not a refusal is internal: its text is only logged.
func refusalOf(err error) (r *nsjail.Refusal, known bool) {
	var bad *schema.Error
	switch {
	case errors.As(err, &r):
		return r, true
	case errors.As(err, &bad):
		message := bad.Message
		if bad.Path != "" {
			message = bad.Path + ": " + message
		}
		return no("request", bad.Code, bad.Path, message, bad.Fix), true
	default:
		return no("jail", "internal", "", "brigd could not do it: a fault of its own, or of this machine",
			"look in brigd's log for the line with this answer's X-Request-Id"), false
	}
}

// retryAfter returns whole seconds, at least 1, or 0 if a retry is useless.
func retryAfter(err error) int {
	var d interface{ RetryAfter() time.Duration }
	var s interface{ RetrySeconds() int }
	switch {
	case errors.As(err, &d):
		return max(1, int((d.RetryAfter()+time.Second-1)/time.Second))
	case errors.As(err, &s):
		return max(1, s.RetrySeconds())
	}
	if r, known := refusalOf(err); known {
		return again[r.Code]
	}
	return 0
}

// soon is a refusal after which a retry is possible in one second.
type soon struct{ *nsjail.Refusal }

func (s soon) Unwrap() error { return s.Refusal }

// RetryAfter returns one second.
func (soon) RetryAfter() time.Duration { return time.Second }

// fail answers with an error.
func (c *call) fail(err error) {
	if c.wrote || errors.Is(err, context.Canceled) && c.r.Context().Err() != nil {
		c.status, c.failed = statusGone, err
		return // the client has disconnected, or the answer has begun
	}
	r, known := refusalOf(err)
	c.code = r.Code
	if !known {
		c.failed = err
	}
	status := statusOf(r)
	if errors.As(err, new(unauthorized)) {
		status = http.StatusUnauthorized
	}
	h := c.w.Header()
	if after := retryAfter(err); after > 0 {
		h.Set("Retry-After", strconv.Itoa(after))
	}
	if status == http.StatusUnauthorized {
		challenge := `Bearer realm="brigd"`
		if len(c.r.Header.Values("Authorization")) > 0 {
			challenge += `, error="invalid_token"`
		}
		h.Set("WWW-Authenticate", challenge)
	}
	c.answer(status, r)
}

// statusGone is logged if the client has disconnected.
const statusGone = 499

// answer writes JSON.
func (c *call) answer(status int, body any) {
	text, err := encode(body)
	if err != nil {
		c.failed, status, c.code = err, http.StatusInternalServerError, "internal"
		text = []byte(`{"error":"brigd could not write its answer as JSON","code":"internal","layer":"jail"}` + "\n")
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	c.writeTime()
	c.head(status)
	_, c.failed = keep(c.failed, c.w, text)
}

// keep writes text unless before is an error, and returns the first error.
func keep(before error, w http.ResponseWriter, text []byte) (int, error) {
	n, err := w.Write(text)
	if before != nil {
		err = before
	}
	return n, err
}

// encode returns a value as one line of JSON.
func encode(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(text, '\n'), err
}
