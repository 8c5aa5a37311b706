package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	egress "brig/netns/egress/policy"
	"brig/nsjail"
)

// narrow adds the policy's denials and bounds to the run's egress rules.
func (n *networkRules) narrow(s *nsjail.Spec) (said []string) {
	own := n.Egress
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
		said = append(said, n.policy+": the network's denials were added.")
	}
	ceilings := own.Bounds()
	for i, b := range e.Bounds() {
		most, v := number(ceilings[i].To), cmp.Or(number(b.To), b.Default)
		if most > 0 && (v == 0 || v > most) {
			setNumber(b.To, most)
			set = append(set, b.Name+" "+show(b.To, most))
		}
	}
	if len(set) > 0 {
		said = append(said, fmt.Sprintf("%s: bounds of the network: %s.", n.policy, strings.Join(set, ", ")))
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
