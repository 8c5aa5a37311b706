package egress

import (
	"maps"
	"slices"
	"strconv"

	"brig/netns/egress/policy"
)

// Bounds of a Summary; the rest is counted under "other".
const (
	maxHosts  = 64
	maxWords  = 16 // methods
	maxRecent = 20
	other     = "other"
)

// Summary holds the totals of the log. Total and its parts count each line Repeated times, or once if it has no
// Repeated. Each attempt has a verdict and a host; few have a reason, a method or a status.
type Summary struct {
	Total        int                   `json:"total"`
	ByVerdict    map[Verdict]int       `json:"by_verdict"`
	ByReason     map[policy.Reason]int `json:"by_reason,omitempty"`
	ByHost       map[string]int        `json:"by_host,omitempty"` // names and addresses, the first 64; the rest is "other"
	ByMethod     map[string]int        `json:"by_method,omitempty"`
	ByStatus     map[string]int        `json:"by_status,omitempty"`
	Sent         int64                 `json:"sent"`                    // bytes out of the jail
	Received     int64                 `json:"received"`                // bytes into the jail
	Refused      []Refused             `json:"refused,omitempty"`       // what the policy refused, the first 16 kinds
	Recent       []Event               `json:"recent,omitempty"`        // the last 20 lines, oldest first
	Unrecorded   int                   `json:"unrecorded,omitempty"`    // packets dropped unread: attempts without a line
	LinesDropped int                   `json:"lines_dropped,omitempty"` // lines that were not written
	LogError     string                `json:"log_error,omitempty"`     // the first error of the log
}

// newSummary returns a Summary with its maps.
func newSummary() *Summary {
	return &Summary{ByVerdict: map[Verdict]int{}, ByReason: map[policy.Reason]int{}, ByHost: map[string]int{},
		ByMethod: map[string]int{}, ByStatus: map[string]int{}}
}

// count adds the attempts of an event.
func (s *Summary) count(e *Event) {
	n := e.weight()
	s.Total += n
	s.ByVerdict[e.Verdict] += n
	if e.Reason != "" {
		s.ByReason[e.Reason] += n
	}
	bump(s.ByHost, e.target(), n, maxHosts)
	s.refuse(e, n)
	if e.Method != "" {
		bump(s.ByMethod, e.Method, n, maxWords)
	}
	if e.Status != 0 {
		bump(s.ByStatus, strconv.Itoa(e.Status), n, maxHosts)
	}
	s.Sent += e.Sent
	s.Received += e.Received
}

// remember adds an event to Recent.
func (s *Summary) remember(e *Event) {
	if len(s.Recent) == maxRecent {
		copy(s.Recent, s.Recent[1:])
		s.Recent = s.Recent[:maxRecent-1]
	}
	s.Recent = append(s.Recent, *e)
}

// bump adds n to key, or to other if the map has no room for the key.
func bump(m map[string]int, key string, n, limit int) {
	if _, known := m[key]; key == "" || !known && len(m) >= limit {
		key = other
	}
	m[key] += n
}

// clone returns a deep copy.
func (s *Summary) clone() *Summary {
	c := *s
	c.ByVerdict, c.ByReason = maps.Clone(s.ByVerdict), maps.Clone(s.ByReason)
	c.ByHost, c.ByMethod, c.ByStatus = maps.Clone(s.ByHost), maps.Clone(s.ByMethod), maps.Clone(s.ByStatus)
	c.Recent, c.Refused = slices.Clone(s.Recent), slices.Clone(s.Refused)
	return &c
}
