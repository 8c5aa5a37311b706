package policy

import (
	"slices"
	"strconv"
	"strings"

	"brig/internal/words"
)

// PortDNS is the port of the jail's resolver; nothing that is sent there leaves the jail.
const PortDNS = 53

// anyPort is "*", every port. 0 is no port.
var anyPort = Ports{1, 65535}

// String returns "443", "8000-8010" or "*".
func (p Ports) String() string {
	switch {
	case p == anyPort:
		return "*"
	case p.From == p.To:
		return strconv.Itoa(int(p.From))
	}
	return strconv.Itoa(int(p.From)) + "-" + strconv.Itoa(int(p.To))
}

// Contains reports whether port is in the range.
func (p Ports) Contains(port uint16) bool { return p.From <= port && port <= p.To }

// MarshalJSON writes one port as a number, a range as a string.
func (p Ports) MarshalJSON() ([]byte, error) {
	if p.From == p.To {
		return []byte(strconv.Itoa(int(p.From))), nil
	}
	return []byte(strconv.Quote(p.String())), nil
}

// parsePorts reads one range of the flag form.
func parsePorts(s string) (Ports, *Problem) {
	if s == "*" {
		return anyPort, nil
	}
	first, last, ranged := strings.Cut(s, "-")
	from, ok := parsePort(first)
	to := from
	if ranged && ok {
		to, ok = parsePort(last)
	}
	switch {
	case !ok:
		return Ports{}, &Problem{Reason: words.QuoteASCII(s) + " is no port",
			Fix: "write a number from 1 to 65535, a range as 8000-8010, or *"}
	case from > to:
		return Ports{}, &Problem{Reason: "the range " + words.QuoteASCII(s) + " ends before it begins",
			Fix: "write " + Ports{to, from}.String()}
	}
	return Ports{from, to}, nil
}

// parsePortList reads ranges joined with commas.
func parsePortList(text string) (set portSet, problem *Problem) {
	for s := range strings.SplitSeq(text, ",") {
		p, problem := parsePorts(s)
		if problem != nil {
			return nil, problem
		}
		set = append(set, p)
	}
	return newPortSet(set), nil
}

// checkPorts checks a range that did not come from a parser.
func checkPorts(p Ports) (Ports, *Problem) {
	if p.From > 0 && p.From <= p.To {
		return p, nil
	}
	return p, &Problem{Reason: "the range " + p.String() + " is empty or has port 0",
		Fix: "write ports from 1 to 65535, the lower one first"}
}

// parsePort accepts digits only, without a leading zero, so that a port has one spelling.
func parsePort(s string) (uint16, bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	return uint16(n), err == nil && n > 0 && s[0] != '0' && s[0] != '+'
}

// portSet is sorted, and its ranges neither overlap nor touch: one set has one form.
type portSet []Ports

// newPortSet returns nil for no ports.
func newPortSet(ports []Ports) portSet {
	sorted := slices.Clone(ports)
	slices.SortFunc(sorted, func(a, b Ports) int { return int(a.From) - int(b.From) })
	var set portSet
	for _, p := range sorted {
		if last := len(set) - 1; last >= 0 && int(p.From) <= int(set[last].To)+1 {
			set[last].To = max(set[last].To, p.To)
			continue
		}
		set = append(set, p)
	}
	return set
}

func (s portSet) contains(port uint16) bool {
	return slices.ContainsFunc(s, func(p Ports) bool { return p.Contains(port) })
}

// count returns the number of ports.
func (s portSet) count() (n int) {
	for _, p := range s {
		n += int(p.To) - int(p.From) + 1
	}
	return n
}

// minus returns s without the ports of t.
func (s portSet) minus(t portSet) portSet {
	left := slices.Clone(s)
	for _, cut := range t {
		var next portSet
		for _, p := range left {
			if cut.To < p.From || p.To < cut.From {
				next = append(next, p)
				continue
			}
			if p.From < cut.From {
				next = append(next, Ports{p.From, cut.From - 1})
			}
			if cut.To < p.To {
				next = append(next, Ports{cut.To + 1, p.To})
			}
		}
		left = next
	}
	return left
}

// and returns the ports of both s and t.
func (s portSet) and(t portSet) portSet { return s.minus(portSet{anyPort}.minus(t)) }

// String joins the ranges with commas, as flags do.
func (s portSet) String() string {
	texts := make([]string, len(s))
	for i, p := range s {
		texts[i] = p.String()
	}
	return strings.Join(texts, ",")
}

// Ports is a range of ports, both ends included. {1, 65535} is "*".
type Ports struct{ From, To uint16 }
