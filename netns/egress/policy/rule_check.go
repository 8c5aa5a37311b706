package policy

import "strings"

// allowRule returns the canonical form of a rule that allows.
func allowRule(r Rule) (Rule, *Problem) {
	r, problem := r.canonical()
	if problem != nil {
		return r, problem
	}
	if r.CIDR == "" {
		if r.effective().count() == 0 {
			return r, &Problem{"ports", "port 53 is the jail's own resolver",
				"leave port 53 out: it answers for every allowed name"}
		}
		return r, nil
	}
	prefix, _ := parsePrefix(r.CIDR)
	if Metadata(prefix.Addr()) && prefix.IsSingleIP() {
		return r, &Problem{"cidr", r.CIDR + " is a metadata service, which hands out credentials",
			"leave it out: no rule opens it"}
	}
	for _, c := range classes() {
		if c.never && c.prefix.Contains(prefix.Addr()) && c.prefix.Bits() <= prefix.Bits() {
			return r, &Problem{"cidr", r.CIDR + " is " + c.why + " and never leaves the jail", neverFix(c.why)}
		}
	}
	if isatap(prefix.Addr()) && prefix.Bits() > 96 {
		return r, &Problem{"cidr", r.CIDR + " is isatap and never leaves the jail", neverFix("isatap")}
	}
	switch {
	case len(r.Ports) == 0:
		r.Ports = []Ports{{443, 443}}
		return r, &Problem{"ports", "a rule for addresses must name its ports",
			"write " + r.String() + " or " + strings.TrimSuffix(r.String(), "443") + "*"}
	case r.effective().count() == 0:
		return r, &Problem{"ports", "port 53 is the jail's own resolver",
			"leave port 53 out; the keeper's servers are named in dns"}
	}
	return r, nil
}

// neverFix returns the remedy for a prefix that no rule opens.
func neverFix(why string) string {
	switch why {
	case "loopback", "unspecified":
		return "the jail's loopback is its own; name another address of the server"
	case "mapped", "compatible", "nat64", "6to4", "teredo", "isatap":
		return "write the IPv4 address itself"
	case "benchmark":
		return "the jail's synthetic addresses are there; name the host"
	}
	return "leave it out"
}

// denyRule returns the canonical form of a rule that denies.
func denyRule(r Rule) (Rule, *Problem) {
	r, problem := r.canonical()
	if problem == nil && r.Mode != ModeDefault {
		problem = &Problem{"mode", "a deny rule has no mode: it denies whatever is spoken", "leave the mode out"}
	}
	return r, problem
}

// effective returns the ports that a rule opens, or those of its mode if it has none.
func (r *Rule) effective() portSet {
	ports := r.Ports
	if len(ports) == 0 && r.Host != "" {
		switch r.Mode {
		case ModeHTTP:
			ports = []Ports{{80, 80}}
		case ModeTLS:
			ports = []Ports{{443, 443}}
		default:
			ports = []Ports{{80, 80}, {443, 443}}
		}
	}
	return newPortSet(ports).minus(portSet{{PortDNS, PortDNS}})
}
