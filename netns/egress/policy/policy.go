package policy

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"brig/internal/strictjson"
	"brig/internal/words"
)

// Bounds and defaults of a policy.
const (
	DefaultMaxConnections = 256              // connections at once
	DefaultConnectTimeout = 10 * time.Second // for resolving a name and connecting to one of its addresses
	DefaultIdleTimeout    = 5 * time.Minute  // without a byte in either direction
	DefaultNamesPerSecond = 20               // new names below wildcards; five times as many at once
	MaxListeners          = 64               // TCP ports that have a listener; more need the catch-all
	MaxUDPPorts           = 16               // UDP ports of all udp rules together
	MaxRules              = 16384            // rules in each list, so that a compiled policy stays below some MiB
)

// Policy is what a jail may reach. The zero Policy allows nothing.
type Policy struct {
	// Allow lists what may be reached; empty: nothing. What any rule allows is allowed.
	Allow []Rule `json:"allow,omitempty"`
	// AllowedHosts are names, *.names, addresses and prefixes, each allowed at AllowedPorts, or at 80 and 443 without
	// these.
	AllowedHosts []string `json:"allowed_hosts,omitempty"`
	// AllowOutbound, if false, allows nothing, whatever the rules are; true and nil leave it to the rules.
	AllowOutbound *bool `json:"allow_outbound,omitempty"`
	// Deny wins over Allow.
	Deny []Rule `json:"deny,omitempty"`
	// AllowedPorts narrows every allow rule to these ports; empty: no narrowing.
	AllowedPorts []Ports `json:"allowed_ports,omitempty"`
	// BlockedHosts are names, *.names, addresses and prefixes that are denied at every port.
	BlockedHosts []string `json:"blocked_hosts,omitempty"`
	// BlockedRanges are more of them.
	BlockedRanges []string `json:"blocked_ranges,omitempty"`
	// Redirect makes the jail's namespace bring every TCP port to one listener (nft(8) redirect), so that the policy's
	// ports are free for the payload's servers. A policy of many ports is always served so.
	Redirect bool `json:"redirect,omitempty"`
	// MaxConnections is how many connections may be open at once; 0: DefaultMaxConnections.
	MaxConnections int `json:"max_connections,omitempty"`
	// ConnectionsPerSecond bounds new connections; 0: no bound.
	ConnectionsPerSecond int `json:"connections_per_second,omitempty"`
	// NamesPerSecond bounds the different names that rules with a wildcard resolve each second, since a name can carry
	// data to its owner's name server; 0: DefaultNamesPerSecond.
	NamesPerSecond int `json:"names_per_second,omitempty"`
	// MaxConnectionBytes bounds the bytes of one connection, both ways together; 0: no bound.
	MaxConnectionBytes Bytes `json:"max_connection_bytes,omitempty"`
	// MaxBytes bounds the bytes of all connections together; 0: no bound.
	MaxBytes Bytes `json:"max_bytes,omitempty"`
	// Bandwidth is in bytes per second, all connections, both ways together; 0: no bound.
	Bandwidth Bytes `json:"bandwidth,omitempty"`
	// ConnectTimeout bounds resolving and connecting; 0: DefaultConnectTimeout.
	ConnectTimeout Duration `json:"connect_timeout,omitempty"`
	// IdleTimeout ends a connection without traffic; 0: DefaultIdleTimeout.
	IdleTimeout Duration `json:"idle_timeout,omitempty"`
	// DNS are the servers that the keeper asks, "ADDR[:PORT]"; empty: those of the host's resolv.conf. They may be
	// private addresses: the payload never reaches them itself.
	DNS []string `json:"dns,omitempty"`
}

// Check returns every problem of the policy. If there is none, Compile succeeds.
func (p *Policy) Check() (problems []Problem) {
	problems = slices.Concat(
		tooMany("allow", p.Allow), each("allow", p.Allow, allowRule), tooMany("deny", p.Deny), each("deny", p.Deny, denyRule),
		each("allowed_ports", p.AllowedPorts, checkPorts), each("allowed_hosts", p.AllowedHosts, p.allowedHost),
		each("blocked_hosts", p.BlockedHosts, blockedHost), each("blocked_ranges", p.BlockedRanges, blockedHost),
		each("dns", p.DNS, dnsServer))
	for _, b := range p.Bounds() {
		if problem := b.check(); problem != nil {
			problems = append(problems, *problem)
		}
	}
	if len(problems) == 0 {
		if _, problem := p.UDPPorts(); problem != nil { // it looks across rules
			problems = append(problems, *problem)
		}
	}
	return problems
}

func tooMany(name string, rules []Rule) []Problem {
	if len(rules) <= MaxRules {
		return nil
	}
	return []Problem{{name, "it has more than " + strconv.Itoa(MaxRules) + " rules",
		"write *.suffix for names below one suffix"}}
}

// each returns the problems that read finds in the elements of a list.
func each[T, R any](name string, list []T, read func(T) (R, *Problem)) (problems []Problem) {
	for i, element := range list {
		if _, problem := read(element); problem != nil {
			problems = append(problems, *problem.at(strictjson.Index(name, i)))
		}
	}
	return problems
}

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

// dnsServer reads "ADDR" or "ADDR:PORT"; the port is 53 unless it is given.
func dnsServer(s string) (netip.AddrPort, *Problem) {
	if a, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil && !a.IsUnspecified() && !a.IsMulticast() {
		return netip.AddrPortFrom(a.Unmap(), PortDNS), nil
	}
	a, err := netip.ParseAddrPort(s)
	if err != nil || a.Port() == 0 || a.Addr().IsUnspecified() || a.Addr().IsMulticast() {
		return a, &Problem{"", words.QuoteASCII(s) + " is no address of a DNS server",
			"write 192.0.2.53, 192.0.2.53:5353 or [2001:db8::53]:53"}
	}
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()), nil
}

// DNSServers returns the addresses of DNS, with their ports, without entries that Check refuses.
func (p *Policy) DNSServers() (servers []netip.AddrPort) {
	for _, s := range p.DNS {
		if server, problem := dnsServer(s); problem == nil {
			servers = append(servers, server)
		}
	}
	return servers
}
