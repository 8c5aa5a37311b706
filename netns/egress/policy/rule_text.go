package policy

import (
	"strings"

	"brig/internal/words"
)

// ParseRule parses [MODE://]TARGET[:PORTS], the form of flags. TARGET is a name, *.name, an IPv4 address or prefix, or
// an IPv6 address or prefix in brackets. PORTS are numbers and ranges joined with commas, or *. The rule is canonical;
// an error is a *Problem without a path.
func ParseRule(text string) (Rule, error) {
	r, problem := parseRule(text)
	if problem != nil {
		return Rule{}, problem
	}
	return r, nil
}

func parseRule(text string) (r Rule, problem *Problem) {
	rest := text
	if mode, after, ok := strings.Cut(text, "://"); ok {
		rest = after
		if strings.EqualFold(mode, "https") { // a URL pasted from a browser; http is a mode already
			mode = string(ModeTLS)
		}
		if r.Mode, problem = parseMode(mode); problem != nil {
			return Rule{}, problem
		}
		if r.Mode == ModeTLS || r.Mode == ModeHTTP {
			rest = strings.TrimSuffix(rest, "/")
		}
	}
	target, ports, hasPorts, problem := splitPorts(rest)
	if problem != nil {
		return Rule{}, problem
	}
	if hasPorts {
		if r.Ports, problem = parsePortList(ports); problem != nil {
			return Rule{}, problem
		}
	}
	if looksLikeAddress(target) {
		r.CIDR = target
	} else {
		r.Host = target
	}
	return r.canonical()
}

// splitPorts splits a target from its ports. Only an IPv6 target may have brackets, which are removed.
func splitPorts(s string) (target, ports string, hasPorts bool, problem *Problem) {
	if !strings.HasPrefix(s, "[") {
		if strings.Count(s, ":") > 1 {
			return "", "", false, &Problem{Reason: words.QuoteASCII(s) + " has more than one colon",
				Fix: "write an IPv6 address in brackets: [2001:db8::1]:443"}
		}
		target, ports, hasPorts = strings.Cut(s, ":")
		return target, ports, hasPorts, nil
	}
	target, after, closed := strings.Cut(s[1:], "]")
	ports, hasPorts = strings.CutPrefix(after, ":")
	if !closed || after != "" && !hasPorts || !strings.Contains(target, ":") {
		return "", "", false, &Problem{Reason: words.QuoteASCII(s) + " is no bracketed IPv6 address or prefix",
			Fix: "write [2001:db8::1]:443 or [2001:db8::/32]:443"}
	}
	return target, ports, hasPorts, nil
}

// String returns the flag form. Methods and paths, which flags cannot express, follow after spaces.
func (r Rule) String() string {
	target := r.Host
	if target == "" {
		target = r.CIDR
	}
	if strings.Contains(target, ":") {
		target = "[" + target + "]"
	}
	if r.Mode != ModeDefault {
		target = string(r.Mode) + "://" + target
	}
	if len(r.Ports) > 0 {
		target += ":" + portSet(r.Ports).String()
	}
	if len(r.Methods) > 0 {
		target += " " + strings.Join(r.Methods, ",")
	}
	if len(r.Paths) > 0 {
		target += " " + strings.Join(r.Paths, " ")
	}
	return target
}
