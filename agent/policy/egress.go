package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	egress "brig/netns/egress/policy"
	"brig/nsjail"
)

// narrowEgress adds the policy's denials and bounds to the run's egress rules.
func (p *Policy) narrowEgress(s *nsjail.Spec) (said []string) {
	own := p.Network.Egress
	if s.Egress == nil || own == nil {
		return nil
	}
	e := s.Egress.Clone() // the policy may be the caller's
	var set []string
	before := len(e.Deny) + len(e.BlockedHosts)
	e.Deny = union(e.Deny, own.Deny, func(r egress.Rule) string { return r.String() })
	e.BlockedHosts = union(e.BlockedHosts, slices.Concat(own.BlockedHosts, own.BlockedRanges),
		func(h string) string { return h })
	if len(e.Deny)+len(e.BlockedHosts) > before {
		said = append(said, p.label()+": the network's denials were added.")
	}
	for _, b := range bounds {
		most, v := b.get(own), b.get(e)
		if most == 0 || v != 0 && v <= most || v == 0 && b.byDefault != 0 && b.byDefault <= most {
			continue
		}
		b.set(e, most)
		set = append(set, b.name+" "+b.show(most))
	}
	if len(set) > 0 {
		said = append(said, fmt.Sprintf("%s: bounds of the network: %s.", p.label(), strings.Join(set, ", ")))
	}
	s.Egress = e
	return said
}

// union appends the elements of more that have lacks. If there are any it sorts the result, which then does not depend
// on the order of policies.
func union[T any](have, more []T, key func(T) string) []T {
	n := len(have)
	for _, m := range more {
		if !slices.ContainsFunc(have, func(h T) bool { return key(h) == key(m) }) {
			have = append(have, m)
		}
	}
	if len(have) > n {
		slices.SortFunc(have, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	}
	return have
}

// bound is a numeric bound of an egress.Policy. A value of 0 means byDefault; if that is 0, no bound.
type bound struct {
	name      string
	byDefault int64
	get       func(*egress.Policy) int64
	set       func(*egress.Policy, int64)
	show      func(int64) string
}

var bounds = []bound{
	{"max_connections", egress.DefaultMaxConnections, func(p *egress.Policy) int64 { return int64(p.MaxConnections) },
		func(p *egress.Policy, v int64) { p.MaxConnections = int(v) }, showCount},
	{"connections_per_second", 0, func(p *egress.Policy) int64 { return int64(p.ConnectionsPerSecond) },
		func(p *egress.Policy, v int64) { p.ConnectionsPerSecond = int(v) }, showCount},
	{"names_per_second", egress.DefaultNamesPerSecond, func(p *egress.Policy) int64 { return int64(p.NamesPerSecond) },
		func(p *egress.Policy, v int64) { p.NamesPerSecond = int(v) }, showCount},
	{"max_connection_bytes", 0, func(p *egress.Policy) int64 { return int64(p.MaxConnectionBytes) },
		func(p *egress.Policy, v int64) { p.MaxConnectionBytes = egress.Bytes(v) }, showBytes},
	{"max_bytes", 0, func(p *egress.Policy) int64 { return int64(p.MaxBytes) },
		func(p *egress.Policy, v int64) { p.MaxBytes = egress.Bytes(v) }, showBytes},
	{"bandwidth", 0, func(p *egress.Policy) int64 { return int64(p.Bandwidth) },
		func(p *egress.Policy, v int64) { p.Bandwidth = egress.Bytes(v) }, showBytes},
	{"connect_timeout", int64(egress.DefaultConnectTimeout),
		func(p *egress.Policy) int64 { return int64(p.ConnectTimeout) },
		func(p *egress.Policy, v int64) { p.ConnectTimeout = egress.Duration(v) }, showTime},
	{"idle_timeout", int64(egress.DefaultIdleTimeout / time.Nanosecond),
		func(p *egress.Policy) int64 { return int64(p.IdleTimeout) },
		func(p *egress.Policy, v int64) { p.IdleTimeout = egress.Duration(v) }, showTime},
}
