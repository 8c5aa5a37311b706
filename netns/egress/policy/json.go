package policy

import (
	"brig/internal/strictjson"
)

// ParsePolicy reads a policy. It is strict: an unknown or repeated key, a value of the wrong kind and everything that
// Check finds is a *Problem. It also reads the settings file of another sandbox, as LoadPolicy does.
func ParsePolicy(data []byte) (*Policy, error) {
	p, _, err := LoadPolicy(data)
	return p, err
}

// LoadPolicy is like ParsePolicy, and also returns notes about the ignored parts of an srt settings file and about
// those with less effect here. A note is one line.
func LoadPolicy(data []byte) (p *Policy, notes []string, err error) {
	p = &Policy{}
	err = document.Read(data, func(r *strictjson.Reader, path string) (err error) {
		if isSRT(data) {
			notes, err = p.readSRT(r)
			return err
		}
		return r.Object(path, p.fields())
	})
	if err == nil {
		err = join(p.Check())
	}
	if err != nil {
		return nil, nil, err
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

// fields returns the keys of a policy's object; rules and hosts become canonical.
func (p *Policy) fields() []strictjson.Field {
	rules, hosts := `an array of rules, as ["example.com"]`, `an array of strings, as ["ads.example.com", "192.0.2.0/24"]`
	fields := []strictjson.Field{
		key("allow", list(&p.Allow, rules, (*Rule).read)),
		key("allowed_hosts", list(&p.AllowedHosts, hosts, readHost)),
		key("allow_outbound", &p.AllowOutbound),
		key("redirect", &p.Redirect),
		key("deny", list(&p.Deny, rules, (*Rule).read)),
		key("allowed_ports", full(&p.AllowedPorts, portsExample, (*Ports).read)),
		key("blocked_hosts", list(&p.BlockedHosts, hosts, readHost)),
		key("blocked_ranges", list(&p.BlockedRanges, hosts, readHost)),
		key("dns", list(&p.DNS, `an array of addresses, as ["192.0.2.53"]`, readText)),
	}
	for _, b := range p.Bounds() {
		fields = append(fields, key(b.Name, b.read))
	}
	return fields
}

const portsExample = `an array of ports, as [443, "8000-8010"]`

// UnmarshalJSON reads an object or the flag form as a string; the rule becomes canonical.
func (r *Rule) UnmarshalJSON(data []byte) error { return document.Read(data, r.read) }

func (r *Rule) read(in *strictjson.Reader, path string) error {
	const example = `a rule, as "example.com:443" or {"host": "example.com", "ports": [443]}`
	var problem *Problem
	if in.Kind() != "object" {
		return scalar(in, path, example, func(text string) *Problem {
			*r, problem = parseRule(text)
			return problem
		}, "string")
	}
	var c Rule
	err := in.Object(path, []strictjson.Field{
		key("host", &c.Host),
		key("cidr", &c.CIDR),
		key("ports", full(&c.Ports, portsExample, (*Ports).read)),
		key("mode", &c.Mode),
		key("methods", full(&c.Methods, `an array of methods, as ["GET", "HEAD"]`, readText)),
		key("paths", full(&c.Paths, `an array of path prefixes, as ["/api"]`, readText)),
	})
	if err != nil {
		return err
	}
	if *r, problem = c.canonical(); problem != nil {
		return in.Fail(path, problem)
	}
	return nil
}

// UnmarshalJSON reads a number, "443", "8000-8010" or "*".
func (p *Ports) UnmarshalJSON(data []byte) error { return document.Read(data, p.read) }

func (p *Ports) read(r *strictjson.Reader, path string) error {
	return scalar(r, path, `a port, as 443 or "8000-8010"`, func(text string) (problem *Problem) {
		*p, problem = parsePorts(text)
		return problem
	}, "number", "string")
}

// readHost reads a name or address in its canonical spelling.
func readHost(to *string, r *strictjson.Reader, path string) error {
	return scalar(r, path, "a name or an address in quotes", func(text string) *Problem {
		rule, problem := blockedHost(text)
		*to = rule.Host + rule.CIDR
		return problem
	}, "string")
}
