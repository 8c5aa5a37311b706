package policy

import (
	"net/netip"
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

func parseMode(s string) (Mode, *Problem) {
	switch m := Mode(s); m {
	case ModeTCP, ModeTLS, ModeHTTP, ModeUDP:
		return m, nil
	}
	if strings.EqualFold(s, "https") {
		return "", &Problem{Reason: "there is no mode https", Fix: "write tls"}
	}
	return "", &Problem{Reason: words.QuoteASCII(s) + " is no mode",
		Fix: words.DidYouMean(s, []string{"tcp", "tls", "http", "udp"})}
}

// looksLikeAddress reports whether a target is, or resembles, an address or prefix rather than a name: it decides which
// error is shown.
func looksLikeAddress(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil || strings.Contains(s, ":") {
		return true
	}
	address, _, slash := strings.Cut(s, "/")
	_, err := netip.ParseAddr(address)
	return slash && err == nil
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

// parsePrefix parses an address or a prefix in its canonical spelling; an address is a prefix of its full length.
func parsePrefix(s string) (netip.Prefix, *Problem) {
	a, err := netip.ParseAddr(s)
	p := netip.PrefixFrom(a, a.BitLen())
	if err != nil {
		p, err = netip.ParsePrefix(s)
		a = p.Addr()
	}
	switch {
	case err != nil:
		return p, &Problem{Reason: words.QuoteASCII(s) + " is no address or prefix",
			Fix: "write 192.0.2.1, 192.0.2.0/24, 2001:db8::1 or 2001:db8::/32"}
	case a.Zone() != "":
		return p, &Problem{Reason: words.QuoteASCII(s) + " has a zone",
			Fix: "write a global address: a jail has no interface of the host"}
	case a.Is4In6():
		fix := "write an IPv4 address or prefix"
		if p.Bits() >= 96 {
			fix = "write " + prefixText(netip.PrefixFrom(a.Unmap(), p.Bits()-96).Masked())
		}
		return p, &Problem{Reason: words.QuoteASCII(s) + " is an IPv4 address written as IPv6", Fix: fix}
	case p.Masked() != p:
		return p, &Problem{Reason: words.QuoteASCII(s) + " has bits set beyond its prefix length",
			Fix: "write " + p.Masked().String() + " for the network, or " + a.String() + " for the one address"}
	}
	return p, nil
}

// prefixText returns a prefix's text; one of full length is an address.
func prefixText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}
