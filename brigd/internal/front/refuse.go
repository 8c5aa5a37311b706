package front

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"brig/brigd/internal/admit"
	"brig/brigd/internal/schema"
	"brig/brigd/job"
)

// statuses maps codes to their HTTP status; other codes have the status of their layer.
var statuses = map[string]int{
	// codes of the faces
	"route_not_found": 404, "run_unknown": 404, "session_unknown": 404, "method_not_allowed": 405, "not_acceptable": 406,
	"body_timeout": 408, "stdin_closed": 409, "stdin_not_streamed": 409, "body_too_large": 413,
	"unsupported_media_type": 415, "host_not_allowed": 421, "origin_not_allowed": 403, "agent_mismatch": 403,
	"body_budget": 429, "too_many_requests": 503,
	// codes of the gate
	"draining": 503,
	// codes of the engine
	"image_not_allowed": 403, "share_not_allowed": 403, "share_replaced": 503, "share_silent": 503,
	"changes_unknown": 404, "changes_conflict": 409, "changes_failed": 409, "apply_not_allowed": 403,
	"other_agent": 403, "sandbox_unknown": 404, "files_too_large": 413, "too_many_files": 413, "stdin_too_large": 413,
	"bad_request": 400, "command_not_runnable": 422, "host_lacks": 501,
	// codes of the sandboxes
	"bad_path": 400, "bad_archive": 400, "bad_agent": 400, "bad_option": 400, "outside_sandbox": 403,
	"symlink": 403, "permission_denied": 403,
	"bad_pattern": 400, "exists": 409, "text_not_found": 409, "text_not_unique": 409,
	"not_found": 404, "too_large": 413, "too_many_sandboxes": 429, "too_many_watches": 429,
	"too_much_work": 503, "disk_full": 507,
	"out_of_sandbox_space": 507,
	"process_unknown":      404, "not_started": 500, "already_living": 409,
	// codes of the queue
	"no_queue": 404, "key_reused": 422, "bad_key": 400, "bad_priority": 400, "not_queued": 400, "operator_only": 403,
	"run_given_up": 500, "stream_broken": 500, "worker_gone": 503, "no_worker": 503,
	"sandbox_gone": 410,
	// codes of ports
	"bad_port": 400, "port_closed": 502, "port_broken": 502, "port_silent": 504, "port_elsewhere": 501,
	"host_names_no_port": 421, "link_over": 401, "other_page": 403, "too_many_links": 429, "no_port_host": 501,
	// temporary errors: see again
	"queue_unavailable": 503,
	"token_ledger":      503, "audit_unavailable": 503, "machine_full": 503,
}

// again is the number of seconds after which to retry a temporary error.
var again = map[string]int{"token_ledger": 5, "audit_unavailable": 5, "machine_full": 5, "too_much_work": 1,
	"too_many_requests": 1, "body_budget": 1, "too_many_sessions": 5, "draining": 5, "queue_unavailable": 2,
	"no_worker": 2}

// layers maps layers to their HTTP status.
var layers = map[string]int{"request": 400, "auth": 401, "token": 403, "policy": 403, "quota": 429, "queue": 429,
	"sandbox": 409, "jail": 500}

// Refuse returns a refusal.
func Refuse(layer, code, rule, message string, next ...string) *job.Refusal {
	return &job.Refusal{Message: message, Code: code, Layer: layer, Rule: rule, NextSteps: next}
}

// AsRefusal returns the refusal that an error is or wraps, or nil.
func AsRefusal(err error) *job.Refusal {
	r, _ := errors.AsType[*job.Refusal](err)
	return r
}

// Later returns a refusal as an error that tells the caller when to ask again, unless after is 0.
func Later(no *job.Refusal, after time.Duration) error {
	if after <= 0 {
		return no
	}
	return &admit.Rejected{Refusal: no, RetryAfter: after}
}

// refusalOf converts any error to a refusal. An error that is not a refusal is internal: its text is only logged.
func refusalOf(err error) (r *job.Refusal, known bool) {
	var bad *schema.Error
	switch {
	case errors.As(err, &r):
		return r, true
	case errors.As(err, &bad):
		message := bad.Message
		if bad.Path != "" {
			message = bad.Path + ": " + message
		}
		return Refuse("request", bad.Code, bad.Path, message, bad.Fix), true
	default:
		return Refuse("jail", "internal", "", "brigd could not do it: a fault of its own, or of this machine",
			"look in brigd's log for the line with this answer's X-Request-Id"), false
	}
}

// fail answers with an error.
func (v *Visit) fail(err error) {
	if v.wrote || errors.Is(err, context.Canceled) && v.R.Context().Err() != nil {
		v.Gone(err)
		return // the client has disconnected, or the answer has begun
	}
	r, known := refusalOf(err)
	v.code = r.Code
	if !known {
		v.Failed = err
	}
	after := again[r.Code]
	if gate, ok := errors.AsType[*admit.Rejected](err); ok {
		after = gate.RetrySeconds()
	}
	if after > 0 {
		v.Header().Set("Retry-After", strconv.Itoa(after))
	}
	status := cmp.Or(statuses[r.Code], layers[r.Layer], http.StatusInternalServerError)
	if v.unauthorized {
		status = http.StatusUnauthorized
	}
	if status == http.StatusUnauthorized {
		challenge := `Bearer realm="brigd"`
		if len(v.R.Header.Values("Authorization")) > 0 {
			challenge += `, error="invalid_token"`
		}
		v.Header().Set("WWW-Authenticate", challenge)
	}
	v.Answer(status, r)
	v.linger()
}

// linger reads on until the deadline that WriteHeader has set, once the answer is sent: a client that writes its whole
// body before it reads, and is cut off, would have ECONNRESET in place of the answer.
func (v *Visit) linger() {
	if v.Unread() && v.FlushError() == nil {
		_, _ = io.Copy(io.Discard, v.R.Body) // nobody wants it
	}
}
