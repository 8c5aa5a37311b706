package rig

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Visit is one connection, request or query that a server has seen.
type Visit struct {
	Kind string // tcp, udp, tls, http, dns; secret for a server of H
	At   string // the address and port that were reached
	What string // the site, the server name, the request line and Host, the question
	Evil bool   // no policy of the suite allows it
}

// String returns a text for a test's message.
func (v Visit) String() string {
	return fmt.Sprintf("%s at %s: %.200q (evil: %v)", v.Kind, v.At, v.What, v.Evil)
}

// Visits is the record of all servers. Safe for concurrent use.
type Visits struct {
	mu   sync.Mutex
	list []Visit
	raw  []string
}

func (v *Visits) add(visit Visit) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.list = append(v.list, visit)
}

// addRaw records the first bytes of a connection.
func (v *Visits) addRaw(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.raw = append(v.raw, text)
}

// Take returns the visits since the last Take, and forgets them.
func (v *Visits) Take() []Visit {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := v.list
	v.list, v.raw = nil, nil
	return list
}

// RawHas reports whether a plain connection since the last Take has sent text, in any case.
func (v *Visits) RawHas(text string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	text = strings.ToLower(text)
	return slices.ContainsFunc(v.raw, func(raw string) bool { return strings.Contains(strings.ToLower(raw), text) })
}
