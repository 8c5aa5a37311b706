// Package wire parses what a payload and a server send each other, as far as an egress policy must understand it: DNS
// queries, TLS ClientHellos, HTTP/1 heads and bodies. It is pure: no sockets, no clocks, no goroutines. Its parsers are
// stricter than the standards. They refuse bytes that two programs may read in two ways. They write what they accept
// anew in one canonical form, so that the far end reads what was checked.
package wire

import "fmt"

// The words for Error.Reason and Question.Reason; the log's closed list has them too.
const (
	NoRule        = "no_rule"        // no rule names it
	NameInvalid   = "name_invalid"   // not a host name that all programs read alike
	PoolExhausted = "pool_exhausted" // no synthetic address is left for the name
	NotTLS        = "not_tls"        // the bytes are not a TLS ClientHello
	NoSNI         = "no_sni"         // a ClientHello that names no server
	NotHTTP       = "not_http"       // the bytes are not an HTTP/1 head
	HostMismatch  = "host_mismatch"  // the request names two hosts, or none
	BadMethod     = "method"         // CONNECT, or a word that is no method
	Protocol      = "protocol"       // the right protocol, but it can be read in two ways
)

// Error is why bytes were refused. An error of this package that is not an *Error comes from the reader or the writer.
type Error struct {
	Reason string // one of the words above
	Detail string // for people; has no bytes of the payload
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
