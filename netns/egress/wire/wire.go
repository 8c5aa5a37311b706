// Package wire parses the messages between a payload and a server, as far as an egress policy needs them: DNS queries,
// TLS ClientHellos, HTTP/1 heads and bodies. It is pure: no sockets, no clocks, no goroutines. Its parsers are stricter
// than the standards and refuse bytes that two programs may interpret differently. They rewrite the messages that they
// accept in a canonical form, so that the receiver interprets exactly what was checked.
package wire

import (
	"fmt"

	"brig/netns/egress/policy"
)

// Error is the reason why bytes were refused. An error of this package that is not an *Error comes from the reader or
// the writer.
type Error struct {
	Reason policy.Reason
	Detail string // a text without bytes of the payload
}

// Error returns "reason: detail".
func (e *Error) Error() string { return string(e.Reason) + ": " + e.Detail }

// Status returns the HTTP status for the client: 403 for what the policy forbids, 400 for what is malformed.
func (e *Error) Status() int {
	switch e.Reason {
	case policy.ReasonHostMismatch, policy.ReasonNameInvalid, policy.ReasonMethod, policy.ReasonNoRule:
		return 403
	}
	return 400
}

func refuse(reason policy.Reason, format string, args ...any) *Error {
	return &Error{reason, fmt.Sprintf(format, args...)}
}
