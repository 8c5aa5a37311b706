package policy

import (
	"net/netip"
	"path"
	"slices"
	"strings"

	"brig/internal/strictjson"
	"brig/internal/words"
)

// Rule is one destination: exactly one of Host and CIDR is set.
type Rule struct {
	// Host is an exact name, or "*.suffix": every name below suffix at any depth, not suffix itself, or "*": every
	// name.
	Host string `json:"host,omitempty"`
	// CIDR is an address or a canonical prefix ("10.1.2.0/24").
	CIDR string `json:"cidr,omitempty"`
	// Ports are the ports. Empty in an allow rule: 80 and 443 for a name (80 if the mode is http, 443 if it is tls);
	// addresses must name theirs. Empty in a deny rule: every port.
	Ports []Ports `json:"ports,omitempty"`
	// Mode is how connections are checked. Addresses have tcp and udp only; a deny rule has none.
	Mode Mode `json:"mode,omitempty"`
	// Methods are the HTTP methods that are allowed (http mode only); empty: every one. GET does not include HEAD.
	Methods []string `json:"methods,omitempty"`
	// Paths are the path prefixes that are allowed, by whole segments (http mode only); empty: every one.
	Paths []string `json:"paths,omitempty"`
}

// anyHost is the Host of a rule for every name that leads to a public address.
const anyHost = "*"

// Wildcard reports whether the rule is for more than one name.
func (r *Rule) Wildcard() bool { return strings.HasPrefix(r.Host, "*") }

// canonical returns the same form for all rules of the same meaning: names normalised, addresses in their shortest
// text, ports sorted and merged, paths without a final slash. Its problems apply to allow and deny rules alike.
func (r Rule) canonical() (Rule, *Problem) {
	c := Rule{Mode: r.Mode, Methods: slices.Clone(r.Methods), Paths: r.Paths}
	if len(c.Methods) == 0 {
		c.Methods = nil
	}
	var problem *Problem
	switch {
	case r.Host != "" && r.CIDR != "":
		return c, &Problem{"cidr", "the rule has both host and cidr", "leave one of them out"}
	case r.CIDR != "":
		var p netip.Prefix
		if p, problem = parsePrefix(r.CIDR); problem == nil {
			c.CIDR = prefixText(p)
		}
		problem = problem.at("cidr")
	default:
		c.Host, problem = canonicalHost(r.Host)
		problem = problem.at("host")
	}
	if problem != nil {
		return c, problem
	}
	if problems := each("ports", r.Ports, checkPorts); len(problems) > 0 {
		return c, &problems[0]
	}
	c.Ports = newPortSet(r.Ports)
	if problem = c.checkMode(); problem != nil {
		return c, problem
	}
	c.Paths = nil
	for i, p := range r.Paths {
		p, problem := canonicalPath(p)
		if problem != nil {
			return c, problem.at(strictjson.Index("paths", i))
		}
		c.Paths = append(c.Paths, p)
	}
	return c, nil
}

// canonicalHost reads a name, "*.suffix" or "*".
func canonicalHost(s string) (string, *Problem) {
	if s == anyHost {
		return s, nil
	}
	suffix, wild := strings.CutPrefix(s, "*.")
	name, why := normalize(suffix)
	if why == "" && wild && len(name) > maxName-2 { // room for one more label and its dot
		why = "no name below it is short enough"
	}
	if why == "" {
		if wild {
			name = "*." + name
		}
		return name, nil
	}
	fix := "write an exact name (example.com) or every name below one (*.example.com)"
	switch {
	case s == "":
		why, fix = "the rule names nothing", `set host ("example.com") or cidr ("192.0.2.0/24")`
		return "", &Problem{Reason: why, Fix: fix}
	case strings.ContainsAny(s, "/?#@"):
		fix = `write the name alone; a path goes into a policy file: ` +
			`{"host": "example.com", "mode": "http", "paths": ["/api"]}`
	case strings.Contains(suffix, "*"):
		fix = "a * stands alone before the first dot: *.example.com"
	case !strings.HasSuffix(why, "address") && asciiName(suffix) != "":
		fix = "write " + asciiName(suffix)
	case strings.HasSuffix(why, "address"):
		fix = "write an address in full, as 192.0.2.1"
	}
	return "", &Problem{Reason: words.QuoteASCII(s) + " is no host name: " + why, Fix: fix}
}

// checkMode checks the parts of a canonical rule that depend on its mode.
func (r *Rule) checkMode() *Problem {
	if r.Mode != ModeDefault {
		if _, problem := parseMode(string(r.Mode)); problem != nil {
			return problem.at("mode")
		}
	}
	switch {
	case r.Mode == ModeUDP && r.Host != "":
		return &Problem{"mode", "udp goes to addresses only: a datagram does not say for which name it is",
			"name the server's address: udp://192.0.2.1:123"}
	case r.CIDR != "" && (r.Mode == ModeTLS || r.Mode == ModeHTTP):
		return &Problem{"mode", "an address has no name that could be checked in mode " + string(r.Mode),
			"use a host, or the mode tcp"}
	case r.Mode != ModeHTTP && len(r.Methods) > 0:
		return &Problem{"methods", "methods are looked at in http mode only", `add "mode": "http"`}
	case r.Mode != ModeHTTP && len(r.Paths) > 0:
		return &Problem{"paths", "paths are looked at in http mode only", `add "mode": "http"`}
	}
	for i, m := range r.Methods {
		switch {
		case !methodToken(m):
			return &Problem{strictjson.Index("methods", i), words.QuoteASCII(m) + " is no HTTP method",
				"write it in capitals, as GET"}
		case m == "CONNECT":
			return &Problem{strictjson.Index("methods", i), "CONNECT is never forwarded: it would hide what follows",
				"leave it out; allow the destination itself"}
		}
	}
	return nil
}

// methodToken reports whether m has only the letters of registered methods. Methods are case-sensitive: RFC 9110 §9.1.
func methodToken(m string) bool {
	return m != "" && len(m) <= 32 && strings.Trim(m, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == ""
}

// canonicalPath returns a prefix in the form in which requests are compared: decoded and clean.
func canonicalPath(p string) (string, *Problem) {
	fix := "write a plain path, as /api/v1"
	switch {
	case !strings.HasPrefix(p, "/"):
		return "", &Problem{Reason: words.QuoteASCII(p) + " does not begin with a slash", Fix: fix}
	case len(p) > 1024:
		return "", &Problem{Reason: words.QuoteASCII(p) + " is longer than 1024 bytes", Fix: fix}
	case strings.ContainsAny(p, "%?#*\\;\"") || strings.ContainsFunc(p, func(r rune) bool { return !plainRune(r) }):
		return "", &Problem{Reason: words.QuoteASCII(p) + " has a character that a prefix cannot have",
			Fix: fix + ", decoded, without query, wildcards and control characters"}
	case strings.TrimSuffix(p, "/") != strings.TrimSuffix(path.Clean(p), "/"):
		return "", &Problem{Reason: words.QuoteASCII(p) + " is not clean", Fix: "write " + path.Clean(p)}
	}
	return path.Clean(p), nil
}
