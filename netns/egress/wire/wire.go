// Package wire parses the messages between a payload and a server, as far as an egress policy needs them: DNS queries,
// TLS ClientHellos, HTTP/1 heads and bodies. It is pure: no sockets, no clocks, no goroutines. Its parsers are stricter
// than the standards and refuse bytes that two programs may interpret differently. They rewrite the messages that they
// accept in a canonical form, so that the receiver interprets exactly what was checked.
package wire

import "fmt"

// The values of Error.Reason and Question.Reason; the log's closed list includes them.
const (
	NoRule        = "no_rule"        // no rule names it
	NameInvalid   = "name_invalid"   // not a host name that all programs interpret alike
	PoolExhausted = "pool_exhausted" // no synthetic address is left for the name
	NotTLS        = "not_tls"        // the bytes are not a TLS ClientHello
	NoSNI         = "no_sni"         // a ClientHello that names no server
	NotHTTP       = "not_http"       // the bytes are not an HTTP/1 head
	HostMismatch  = "host_mismatch"  // the request names two hosts, or none
	BadMethod     = "method"         // CONNECT, or not a method
	Protocol      = "protocol"       // the right protocol, but ambiguous
)

// Error is the reason why bytes were refused. An error of this package that is not an *Error comes from the reader or
// the writer.
type Error struct {
	Reason string // one of the words above
	Detail string // a text without bytes of the payload
}

// Error returns "reason: detail".
func (e *Error) Error() string { return e.Reason + ": " + e.Detail }

// Status returns the HTTP status for the client: 403 for what the policy forbids, 400 for what is malformed.
func (e *Error) Status() int {
	switch e.Reason {
	case HostMismatch, NameInvalid, BadMethod, NoRule:
		return 403
	}
	return 400
}

func refuse(reason, format string, args ...any) *Error {
	return &Error{reason, fmt.Sprintf(format, args...)}
}
