package egress

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"brig/internal/words"
	"brig/netns/egress/policy"
	"slices"
)

// Bounds of the list of refusals.
const (
	maxRefused = 16 // entries of Summary.Refused
	maxTold    = 3  // of them in RefusedLine
)

// Refused counts the attempts that the policy refused for one reason at one destination.
type Refused struct {
	Host    string        `json:"host"`           // the name that was looked up, else the address
	Port    uint16        `json:"port,omitempty"` // 0: the name was only looked up
	Reason  policy.Reason `json:"reason"`
	Address string        `json:"address,omitempty"` // ADDR:PORT to which the name led, if that is the reason
	Count   int           `json:"count"`
	Fix     words.Text    `json:"fix,omitempty"` // refers to the rule that would allow it; "" if none would
}

// Refusal returns what the policy has refused, with a Count of 1, and whether the event is a refusal.
func (e *Event) Refusal() (r Refused, ok bool) {
	r = Refused{Host: e.target(), Port: e.Port, Reason: e.Reason, Address: e.Address, Count: 1}
	if e.Kind == KindDNS {
		r.Port = 0
	}
	if r.Host == "" || r.Reason == policy.ReasonType || e.Verdict != VerdictDeny {
		return r, false
	}
	r.Fix = r.Reason.Fix(r.Host, r.Port, r.Address)
	return r, true
}

// refuse counts n attempts of a refused event if the list has an entry for them or room for one.
func (s *Summary) refuse(e *Event, n int) {
	r, ok := e.Refusal()
	if !ok {
		return
	}
	for i := range s.Refused {
		have := &s.Refused[i]
		if have.Host == r.Host && have.Port == r.Port && have.Reason == r.Reason && have.Address == r.Address {
			have.Count += n
			return
		}
	}
	if len(s.Refused) < maxRefused {
		r.Count = n
		s.Refused = append(s.Refused, r)
	}
}

// RefusedLine returns one line of English, in printable ASCII, about what the policy refused, with references to the
// rules that would allow it. It returns "" if nothing was refused.
func (s *Summary) RefusedLine() words.Text {
	if s == nil || len(s.Refused) == 0 {
		return ""
	}
	var parts []words.Text
	more := s.ByVerdict[VerdictDeny] + s.Unrecorded
	for i := range s.Refused[:min(len(s.Refused), maxTold)] {
		r := &s.Refused[i]
		more -= r.Count
		parts = append(parts, r.said(" "+words.Times(r.Count)))
	}
	line := "the network refused " + words.Join(parts, "; ")
	if more > 0 {
		line += words.Textf("; and %d more (%s lists them)", more, words.Set("net_log", "FILE"))
	}
	return line
}

// Worded returns the summary with a reader's words for what it refers to.
func (s *Summary) Worded(d words.Dialect) *Summary {
	if s == nil {
		return nil
	}
	told := *s
	told.Refused = slices.Clone(s.Refused)
	for i := range told.Refused {
		told.Refused[i].Fix = told.Refused[i].Fix.Worded(d)
	}
	return &told
}

// Target returns the host, and the port if there is one.
func (r *Refused) Target() string {
	if r.Port == 0 {
		return r.Host
	}
	return net.JoinHostPort(r.Host, strconv.Itoa(int(r.Port)))
}

// Text returns the refusal, why, and a reference to the rule that would allow it, in printable ASCII.
func (r *Refused) Text() words.Text { return r.said("") }

func (r *Refused) said(times string) words.Text {
	s := words.Plain(r.Target() + times + ": " + r.Why())
	if r.Fix != "" {
		s += " (" + r.Fix + ")"
	}
	return s
}

// Why returns the reason in words.
func (r *Refused) Why() string {
	at, kind := r.Host, ""
	if to, err := netip.ParseAddrPort(r.Address); err == nil {
		at = to.Addr().String()
	}
	if a, err := netip.ParseAddr(at); err == nil {
		if kind = policy.Blocked(a); kind != "" {
			kind = ", a " + kind + " address"
		}
	}
	switch r.Reason {
	case policy.ReasonNoRule, policy.ReasonUDP:
		return "no rule allows it"
	case policy.ReasonPort:
		return "no rule allows this port"
	case policy.ReasonDenied:
		return "a rule denies it"
	case policy.ReasonBlocked, policy.ReasonMetadata, policy.ReasonOwnAddress:
		if r.Reason == policy.ReasonOwnAddress {
			kind = ", which is this machine's"
		}
		if at == r.Host {
			return "it is" + strings.TrimPrefix(kind, ",")
		}
		return "it leads to " + at + kind
	}
	return strings.ReplaceAll(string(r.Reason), "_", " ")
}
