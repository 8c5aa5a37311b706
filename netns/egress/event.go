package egress

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"strconv"
	"time"
	"unicode/utf8"

	"brig/netns/egress/policy"
)

// Kind is the protocol of an Event.
type Kind string

// The kinds of events.
const (
	KindTCP     Kind = "tcp"
	KindTLS     Kind = "tls"
	KindHTTP    Kind = "http"
	KindUDP     Kind = "udp"
	KindDNS     Kind = "dns"
	KindPublish Kind = "publish"
	KindFlood   Kind = "flood" // attempts beyond what the log holds in one second, counted by verdict and reason
)

// Verdict is the result of an attempt.
type Verdict string

// The verdicts.
const (
	VerdictAllow Verdict = "allow" // it was relayed; a reason explains an early end
	VerdictDeny  Verdict = "deny"  // the policy refused it
	VerdictError Verdict = "error" // the policy allowed it and it failed
)

// Event is one line of the log: a connection, an HTTP request or a refused attempt. Every string in a line is plain
// printable ASCII; anything else is a Go escape (\n, \x00, \u202e), a backslash as two.
type Event struct {
	Time        time.Time     `json:"time"` // its end, UTC
	Jail        string        `json:"jail,omitempty"`
	Kind        Kind          `json:"kind"`
	Verdict     Verdict       `json:"verdict"`
	Reason      policy.Reason `json:"reason,omitempty"`
	Rule        string        `json:"rule,omitempty"`        // the text of the rule that decided
	Name        string        `json:"name,omitempty"`        // the name that the payload looked up
	Address     string        `json:"address,omitempty"`     // ADDR:PORT that was dialled
	Destination string        `json:"destination,omitempty"` // ADDR:PORT as the payload saw it
	Port        uint16        `json:"port,omitempty"`        // of the destination
	SNI         string        `json:"sni,omitempty"`         // of the ClientHello
	Host        string        `json:"host,omitempty"`        // of the HTTP request
	Method      string        `json:"method,omitempty"`      // of the HTTP request
	Path        string        `json:"path,omitempty"`        // of the HTTP request
	Status      int           `json:"status,omitempty"`      // of the HTTP response
	Sent        int64         `json:"sent,omitempty"`        // bytes out of the jail
	Received    int64         `json:"received,omitempty"`    // bytes into the jail
	DurationMS  float64       `json:"duration_ms,omitempty"` // milliseconds
	Repeated    int           `json:"repeated,omitempty"`    // the number of equal attempts in this line; 0: one
}

// MaxLine is the longest line of the log in bytes, its line break included.
const MaxLine = 2048

// weight returns the number of attempts in the event.
func (e *Event) weight() int { return max(e.Repeated, 1) }

// target returns the key of Summary.ByHost: the name, else the address.
func (e *Event) target() string {
	if e.Name != "" {
		return e.Name
	}
	if to, err := netip.ParseAddrPort(e.Destination); err == nil {
		return to.Addr().String()
	}
	return ""
}

// clean bounds and escapes each string from outside. The sum of the bounds and of the keys fits MaxLine.
func (e *Event) clean() {
	for _, f := range []struct {
		text *string
		max  int
	}{{&e.Jail, 100}, {&e.Rule, 280}, {&e.Name, 256}, {&e.Address, 56}, {&e.Destination, 56},
		{&e.SNI, 256}, {&e.Host, 256}, {&e.Method, 32}, {&e.Path, 400}} {
		*f.text = printable(*f.text, f.max)
	}
	e.Time = e.Time.UTC().Truncate(time.Microsecond)
}

// line returns the event's JSON with its line break. clean must have been called.
func (e *Event) line() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // six bytes for one would break the bounds of clean
	_ = enc.Encode(e)        // strings and numbers always have a JSON form
	return b.Bytes()
}

// printable returns s as printable ASCII whose JSON form has at most limit bytes. It ends with the number of bytes cut
// off.
func printable(s string, limit int) string {
	if plain(s) && len(s) <= limit {
		return s
	}
	const tail = len(`...+9999999`)
	out, cost := make([]byte, 0, limit), 0
	cut, keep := 0, -1 // where to cut in s and in out, should the rest not fit
	for i := 0; i < len(s); {
		_, n := utf8.DecodeRuneInString(s[i:])
		from := len(out)
		out = appendRune(out, s[i:i+n])
		for _, c := range out[from:] {
			if cost++; c == '"' || c == '\\' {
				cost++
			}
		}
		if keep < 0 && cost > limit-tail {
			cut, keep = i, from
		}
		if cost > limit {
			return string(out[:keep]) + "...+" + strconv.Itoa(min(len(s)-cut, 9999999))
		}
		i += n
	}
	return string(out)
}

// plain reports whether s is printable ASCII that needs no escape.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '\\' || c == '"' {
			return false
		}
	}
	return true
}

// appendRune appends one character, escaped as in a Go string unless it is printable ASCII. A quotation mark stays:
// JSON escapes it.
func appendRune(out []byte, raw string) []byte {
	if raw == `"` {
		return append(out, '"')
	}
	q := strconv.AppendQuoteToASCII(nil, raw)
	return append(out, q[1:len(q)-1]...)
}
