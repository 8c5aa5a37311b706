package rig

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Visit is one thing that a server has seen.
type Visit struct {
	Kind string // tcp, udp, tls, http, dns; secret for a server of H's own
	At   string // the address and port that were reached
	What string // the site, the server name, the request line and Host, the question
	Evil bool   // no policy of the suite allows it
}

// String is for a test's message.
func (v Visit) String() string {
	return fmt.Sprintf("%s at %s: %.200q (evil: %v)", v.Kind, v.At, v.What, v.Evil)
}

// Visits is what all servers have seen. Safe for concurrent use.
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

// addRaw keeps the first bytes that a connection has brought.
func (v *Visits) addRaw(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.raw = append(v.raw, text)
}

// Take gives what has been seen since the last Take, and forgets it.
func (v *Visits) Take() []Visit {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := v.list
	v.list, v.raw = nil, nil
	return list
}

// Seen gives what has been seen since the last Take.
func (v *Visits) Seen() []Visit {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.list)
}

// RawHas says that a plain connection since the last Take has brought text, in whatever case.
func (v *Visits) RawHas(text string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.ContainsFunc(v.raw, func(raw string) bool { return strings.Contains(strings.ToLower(raw), strings.ToLower(text)) })
}
