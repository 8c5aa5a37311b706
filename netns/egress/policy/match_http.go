package policy

import (
	"path"
	"slices"
	"strings"
)

// Request decides about one HTTP request on a connection that d allowed in http mode: some http rule for the same name
// and port must allow both method and path. The path is the request target's, as sent; a query is cut off.
func (m *Matcher) Request(d Decision, method, target string) Reason {
	if !d.Allow {
		return d.Reason
	}
	reason := ReasonMethod
	asked, plain := requestPath(target)
	m.eachHTTP(d, func(r *Rule) bool {
		if len(r.Methods) > 0 && !slices.Contains(r.Methods, method) {
			return true
		}
		reason = ReasonPath
		if len(r.Paths) == 0 || plain && slices.ContainsFunc(r.Paths, func(p string) bool { return under(asked, p) }) {
			reason = ReasonNone
		}
		return reason != ReasonNone
	})
	return reason
}

// Unlimited says whether some http rule for d's name and port has neither methods nor paths, so that a connection may
// leave HTTP (Upgrade).
func (m *Matcher) Unlimited(d Decision) bool {
	unlimited := false
	if d.Allow {
		m.eachHTTP(d, func(r *Rule) bool {
			unlimited = len(r.Methods) == 0 && len(r.Paths) == 0
			return !unlimited
		})
	}
	return unlimited
}

// eachHTTP goes through the rules that allow HTTP where d does.
func (m *Matcher) eachHTTP(d Decision, yield func(*Rule) bool) {
	m.allow.each(d.name, func(c *compiled) bool {
		if c.mode(d.port) != ModeHTTP || !c.ports.contains(d.port) {
			return true
		}
		return yield(&c.rule)
	})
}

// requestPath decodes a request's path. It is not plain, and no prefix fits, where servers disagree about what it
// names: dot segments (also with a ;parameter, which some servers cut off first), a slash, backslash, percent or
// control byte that was encoded. Doubled slashes stay, for under looks at both readings.
func requestPath(target string) (asked string, plain bool) {
	if i := strings.IndexAny(target, "?#"); i >= 0 {
		target = target[:i]
	}
	if !strings.HasPrefix(target, "/") {
		return "", false
	}
	var out strings.Builder
	for i := 0; i < len(target); i++ {
		c := target[i]
		if c == '%' {
			if i+2 >= len(target) || !isHex(target[i+1]) || !isHex(target[i+2]) {
				return "", false
			}
			c = unhex(target[i+1])<<4 | unhex(target[i+2])
			if c == '/' || c == '%' {
				return "", false
			}
			i += 2
		}
		if c < ' ' || c == 0x7f || c == '\\' {
			return "", false
		}
		out.WriteByte(c)
	}
	asked = out.String()
	for segment := range strings.SplitSeq(asked, "/") {
		segment, _, _ = strings.Cut(segment, ";")
		if segment == "." || segment == ".." {
			return "", false
		}
	}
	return asked, true
}

// under says whether a path is a canonical prefix or below it, read as it stands and with doubled slashes merged.
func under(asked, prefix string) bool {
	below := func(p string) bool {
		return prefix == "/" || p == prefix || strings.HasPrefix(p, prefix) && p[len(prefix)] == '/'
	}
	return below(asked) && below(path.Clean(asked))
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
