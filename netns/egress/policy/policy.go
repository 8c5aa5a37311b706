package policy

import "time"

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

// Duration is a time.Duration; in JSON a string for time.ParseDuration ("30s").
type Duration time.Duration

// Bytes is a count of bytes; in JSON a number, or a string with a binary unit k, m, g or t ("10m" is 10,485,760).
type Bytes int64
