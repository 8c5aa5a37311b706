package policy

import (
	"math"
	"strconv"
	"strings"
	"time"

	"brig/internal/words"
)

// Duration is a time.Duration; in JSON a string for time.ParseDuration ("30s").
type Duration time.Duration

// Bytes is a count of bytes; in JSON a number, or a string with a binary unit k, m, g or t ("10m" is 10,485,760).
type Bytes int64

// ParsePolicy reads a policy. It is strict: an unknown or repeated key, a value of the wrong kind and everything that
// Check finds is a *Problem. It also reads the settings file of another sandbox, as LoadPolicy does.
func ParsePolicy(data []byte) (*Policy, error) {
	p, _, err := LoadPolicy(data)
	return p, err
}

// LoadPolicy is like ParsePolicy, and also returns notes about the ignored parts of an srt settings file and about
// those with less effect here. A note is one line.
func LoadPolicy(data []byte) (p *Policy, notes []string, err error) {
	n, problem := parseTree(data)
	p = &Policy{}
	switch {
	case problem != nil:
	case isSRT(n):
		p, notes, problem = readSRT(n)
	default:
		problem = p.read(n)
	}
	if problem != nil {
		return nil, nil, problem
	}
	if problems := p.Check(); len(problems) > 0 {
		return nil, nil, join(problems)
	}
	return p, notes, nil
}

// UnmarshalJSON is ParsePolicy for a policy within another structure. The output of json.Marshal for a policy that has
// passed Check is parsed to the same policy, in its canonical form.
func (p *Policy) UnmarshalJSON(data []byte) error {
	parsed, err := ParsePolicy(data)
	if err == nil {
		*p = *parsed
	}
	return err
}

// read fills the policy from its object; rules become canonical.
func (p *Policy) read(n *node) *Problem {
	hosts := `an array of strings, as ["ads.example.com", "192.0.2.0/24"]`
	return readFields(n, `an object, as {"allow": ["example.com"]}`, append([]field{
		{"allow", list(&p.Allow, `an array of rules, as ["example.com"]`, ruleNode)},
		{"allowed_hosts", list(&p.AllowedHosts, hosts, blockedNode)},
		{"allow_outbound", yesOrNo(func(yes bool) { p.AllowOutbound = &yes })},
		{"redirect", yesOrNo(func(yes bool) { p.Redirect = yes })},
		{"deny", list(&p.Deny, `an array of rules, as ["example.com"]`, ruleNode)},
		{"allowed_ports", full(list(&p.AllowedPorts, `an array of ports, as [443, "8000-8010"]`, portsNode))},
		{"blocked_hosts", list(&p.BlockedHosts, hosts, blockedNode)},
		{"blocked_ranges", list(&p.BlockedRanges, hosts, blockedNode)},
		{"dns", list(&p.DNS, `an array of addresses, as ["192.0.2.53"]`, stringNode)},
	}, p.limits()...))
}

// limits returns the fields of the bounds, which SetLimit sets too.
func (p *Policy) limits() []field {
	return []field{
		{"max_connections", integer(func(v int64) { p.MaxConnections = int(v) }, math.MaxInt32)},
		{"connections_per_second", integer(func(v int64) { p.ConnectionsPerSecond = int(v) }, math.MaxInt32)},
		{"names_per_second", integer(func(v int64) { p.NamesPerSecond = int(v) }, math.MaxInt32)},
		{"max_connection_bytes", p.MaxConnectionBytes.read},
		{"max_bytes", p.MaxBytes.read},
		{"bandwidth", p.Bandwidth.read},
		{"connect_timeout", p.ConnectTimeout.read},
		{"idle_timeout", p.IdleTimeout.read},
	}
}

// SetLimit sets one of the policy's bounds by its key in JSON, from the text of a command line: "max_connections" "20",
// "bandwidth" "1m", "idle_timeout" "30s". The error is a *Problem.
func (p *Policy) SetLimit(key, value string) error {
	n := &node{kind: "object", keys: []string{key}, vals: []*node{{kind: "string", text: value}}}
	if strings.HasPrefix(key, "max_connections") || strings.HasSuffix(key, "s_per_second") {
		n.vals[0].kind = "number"
	}
	if problem := readFields(n, "NAME=VALUE", p.limits()); problem != nil {
		return problem
	}
	return nil
}

func yesOrNo(set func(bool)) func(*node) *Problem {
	return func(n *node) *Problem {
		set(n.text == "true")
		return n.want("bool", "true or false")
	}
}

// UnmarshalJSON reads an object or the flag form as a string; the rule becomes canonical.
func (r *Rule) UnmarshalJSON(data []byte) error {
	return unmarshal(data, func(n *node) (problem *Problem) {
		*r, problem = ruleNode(n)
		return problem
	})
}

// ruleNode reads a rule in either form.
func ruleNode(n *node) (Rule, *Problem) {
	if n.kind == "string" {
		return parseRule(n.text)
	}
	var r Rule
	var mode string
	problem := readFields(n, `a rule, as "example.com:443" or {"host": "example.com", "ports": [443]}`, []field{
		{"host", text(&r.Host)},
		{"cidr", text(&r.CIDR)},
		{"ports", full(list(&r.Ports, `an array of ports, as [443, "8000-8010"]`, portsNode))},
		{"mode", text(&mode)},
		{"methods", full(list(&r.Methods, `an array of methods, as ["GET", "HEAD"]`, stringNode))},
		{"paths", full(list(&r.Paths, `an array of path prefixes, as ["/api"]`, stringNode))},
	})
	if problem != nil {
		return Rule{}, problem
	}
	r.Mode = Mode(mode)
	return r.canonical()
}

func portsNode(n *node) (Ports, *Problem) {
	if n.kind != "number" && n.kind != "string" {
		return Ports{}, n.want("number", `a port, as 443 or "8000-8010"`)
	}
	return parsePorts(n.text)
}

func stringNode(n *node) (string, *Problem) { return n.text, n.want("string", "it in quotes") }

// blockedNode reads a name or address in its canonical spelling.
func blockedNode(n *node) (string, *Problem) {
	if problem := n.want("string", "a name or an address in quotes"); problem != nil {
		return "", problem
	}
	r, problem := blockedHost(n.text)
	return r.Host + r.CIDR, problem
}

// full refuses an empty array: its author would expect it to allow nothing, but it means no restriction.
func full(read func(*node) *Problem) func(*node) *Problem {
	return func(n *node) *Problem {
		if n.kind == "array" && len(n.vals) == 0 {
			return &Problem{Reason: "it is empty", Fix: "leave it out for no restriction, or name what is allowed"}
		}
		return read(n)
	}
}

func text(out *string) func(*node) *Problem {
	return func(n *node) *Problem {
		*out = n.text
		return n.want("string", "it in quotes")
	}
}

// integer reads a whole number from 0 to top.
func integer(set func(int64), top int64) func(*node) *Problem {
	return func(n *node) *Problem {
		if problem := n.want("number", "a whole number"); problem != nil {
			return problem
		}
		v, err := strconv.ParseInt(n.text, 10, 64)
		if err != nil || v < 0 || v > top {
			return &Problem{Reason: words.QuoteASCII(n.text) + " is no whole number from 0 to " + strconv.FormatInt(top, 10),
				Fix: "write one, or leave it out"}
		}
		set(v)
		return nil
	}
}

// UnmarshalJSON reads a number or a string with a unit.
func (b *Bytes) UnmarshalJSON(data []byte) error { return unmarshal(data, b.read) }

func (b *Bytes) read(n *node) *Problem {
	if n.kind != "number" && n.kind != "string" {
		return n.want("number", `a number of bytes, or "10m"`)
	}
	digits, shift := n.text, 0
	if len(digits) > 1 && n.kind == "string" {
		if unit := strings.IndexByte("kmgt", digits[len(digits)-1]|0x20); unit >= 0 {
			digits, shift = digits[:len(digits)-1], 10*(unit+1)
		}
	}
	v, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || v > math.MaxInt64>>shift {
		return &Problem{Reason: words.QuoteASCII(n.text) + " is no size",
			Fix: `write a whole number of bytes, or one with a unit k, m, g or t, as "10m"`}
	}
	*b = Bytes(v << shift)
	return nil
}

// MarshalJSON writes the form that time.ParseDuration reads.
func (d Duration) MarshalJSON() ([]byte, error) {
	return []byte(strconv.Quote(time.Duration(d).String())), nil
}

// UnmarshalJSON reads a string for time.ParseDuration.
func (d *Duration) UnmarshalJSON(data []byte) error { return unmarshal(data, d.read) }

func (d *Duration) read(n *node) *Problem {
	if problem := n.want("string", `a time with its unit, as "30s"`); problem != nil {
		return problem
	}
	v, err := time.ParseDuration(n.text)
	if err != nil || v < 0 {
		return &Problem{Reason: words.QuoteASCII(n.text) + " is no time", Fix: `write one with its unit, as "30s" or "5m"`}
	}
	*d = Duration(v)
	return nil
}
