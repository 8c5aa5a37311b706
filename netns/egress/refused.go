package egress

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"brig/internal/words"
	"brig/netns/egress/policy"
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
	Fix     string        `json:"fix,omitempty"` // the flag that would allow it; "" if none would
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
	r.Fix = r.Reason.Hint(r.Host, r.Port, r.Address)
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

// RefusedLine returns one line of English, in printable ASCII, about what the policy refused, with the flags that would
// allow it. It returns "" if nothing was refused.
func (s *Summary) RefusedLine() string {
	if s == nil || len(s.Refused) == 0 {
		return ""
	}
	var parts []string
	more := s.ByVerdict[VerdictDeny] + s.Unrecorded
	for i := range s.Refused[:min(len(s.Refused), maxTold)] {
		r := &s.Refused[i]
		more -= r.Count
		parts = append(parts, r.text())
	}
	line := "the network refused " + strings.Join(parts, "; ")
	if more > 0 {
		line += fmt.Sprintf("; and %d more (--net-log FILE lists them)", more)
	}
	return line
}

// Target returns the host, and the port if there is one.
func (r *Refused) Target() string {
	if r.Port == 0 {
		return r.Host
	}
	return net.JoinHostPort(r.Host, strconv.Itoa(int(r.Port)))
}

func (r *Refused) text() string { return r.said(" " + words.Times(r.Count)) }

// String returns the refusal, why, and the flag that would allow it, in printable ASCII.
func (r *Refused) String() string { return r.said("") }

func (r *Refused) said(times string) string {
	s := r.Target() + times + ": " + r.Why()
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
