package policy

import "strings"

// SetLimit sets one of the policy's bounds by its key in JSON, from the text of a command line: "max_connections" "20",
// "bandwidth" "1m", "idle_timeout" "30s". The error is a *Problem.
func (p *Policy) SetLimit(key, value string) error {
	n := &node{kind: "object", keys: []string{key}, vals: []*node{{kind: "string", text: value}}}
	if strings.HasPrefix(key, "max_connections") || strings.HasSuffix(key, "s_per_second") {
		n.vals[0].kind = "number"
	}
	fields := p.limits()
	if problem := readFields(n, "NAME=VALUE", fields); problem != nil {
		return problem
	}
	return nil
}
