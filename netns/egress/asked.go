package egress

import (
	"slices"
	"sync"
	"time"
)

const (
	askedNames = 1024
	askedFor   = 2 * time.Second
)

// asked remembers refused names for askedFor. One lookup asks for A and AAAA, and perhaps for HTTPS; that counts as one
// attempt and one line.
type asked struct {
	mu    sync.Mutex
	names map[string]askedName
}

type askedName struct {
	at    time.Time
	types []uint16 // asked for in this attempt, at most 3
}

// first reports whether a query begins an attempt. A type that was already asked for begins a new one.
func (a *asked) first(name string, kind uint16, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, known := a.names[name]
	if known && now.Sub(e.at) < askedFor && len(e.types) < 3 && !slices.Contains(e.types, kind) {
		e.types = append(e.types, kind)
		a.names[name] = e
		return false
	}
	if !known && len(a.names) >= askedNames {
		clear(a.names)
	}
	a.names[name] = askedName{now, []uint16{kind}}
	return true
}
