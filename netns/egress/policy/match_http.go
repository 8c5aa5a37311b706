package policy

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Request decides about one HTTP request on a connection that d allowed in http mode: some http rule for the same name
// and port must allow both method and path. The path is the request target's, as sent; a query is cut off.
func (m *Matcher) Request(d Decision, method, target string) Reason {
	if !d.Allow {
		return d.Reason
	}
	reason := ReasonMethod
	path, clean := cleanPath(target)
	for _, r := range m.http(d) {
		switch {
		case len(r.Methods) > 0 && !slices.Contains(r.Methods, method):
			continue
		case len(r.Paths) == 0 || clean && slices.ContainsFunc(r.Paths, func(p string) bool { return under(path, p) }):
			return ReasonNone
		}
		reason = ReasonPath
	}
	return reason
}

// Unlimited reports whether some http rule for d's name and port has neither methods nor paths, so that a connection
// may leave HTTP (Upgrade).
func (m *Matcher) Unlimited(d Decision) bool {
	return d.Allow && slices.ContainsFunc(m.http(d), func(r *Rule) bool { return len(r.Methods)+len(r.Paths) == 0 })
}

// http returns the rules that allow HTTP at d's name and port.
func (m *Matcher) http(d Decision) (rules []*Rule) {
	for _, c := range m.allow.rules(d.name) {
		if c.mode(d.port) == ModeHTTP && c.ports.contains(d.port) {
			rules = append(rules, &c.rule)
		}
	}
	return rules
}

// lookAlikes are characters beyond ASCII that some servers fold into . / \ % ; ?
const lookAlikes = "．／＼％；？․‥…﹒﹔﹖﹨﹪∕∖⁄"

// cleanPath decodes the path of a request target, without the query, for comparison with path prefixes. ok is false for
// paths that servers interpret differently: empty, "." and ".." segments (and those of dots and blanks only), a
// backslash, ";", "%" before anything but two hexadecimal digits, an encoded letter, digit, "." "/" "\" "%" ";" "?" "#"
// or control byte, and bytes that are not UTF-8. This includes one encoded "/" with a legitimate use, npm's
// /@scope%2fname: a rule with path prefixes cannot allow it.
func cleanPath(target string) (path string, ok bool) {
	raw, _, _ := strings.Cut(target, "?")
	if !strings.HasPrefix(raw, "/") {
		return "", false
	}
	b := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`\;#`, c) >= 0 {
			return "", false
		}
		if c == '%' {
			value, err := strconv.ParseUint(raw[i+1:min(i+3, len(raw))], 16, 8)
			if c = byte(value); err != nil || i+2 >= len(raw) || refusedEncoded(c) {
				return "", false
			}
			i += 2
		}
		b = append(b, c)
	}
	path = string(b)
	if !utf8.ValidString(path) || strings.ContainsAny(path, lookAlikes) {
		return "", false
	}
	for rest, more := path[1:], true; more; {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		if strings.Trim(segment, ". ") == "" && (segment != "" || more) { // the last may be empty: "/", "/a/"
			return "", false
		}
	}
	return path, true
}

// refusedEncoded reports whether c must not be sent as %XX: a client has no reason to encode it, or its meaning depends
// on how often, and when, the server decodes.
func refusedEncoded(c byte) bool {
	return c < ' ' || c == 0x7f || 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' ||
		strings.IndexByte(`./\%;?#`, c) >= 0
}

// under reports whether a clean path is a canonical prefix or below it.
func under(path, prefix string) bool {
	return prefix == "/" || path == prefix || strings.HasPrefix(path, prefix) && path[len(prefix)] == '/'
}
