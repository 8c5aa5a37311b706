package main

import (
	"fmt"
	"log/slog"

	"brig/netns/egress"

	"golang.org/x/sys/unix"
)

// How many descriptors brigd keeps for each place, for each sandbox, and for itself.
const (
	placeFDs   = 16
	sandboxFDs = 4
	ownFDs     = 64
)

// descriptors divides what brigd may have open (RLIMIT_NOFILE): each kind of connections to it, by TCP and at Unix sockets,
// has an eighth at most, and what a jail's network may take is bounded by what places and sandboxes need.
func (p *parts) descriptors() error {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil { // getrlimit(2); the Go runtime has raised it to the hard limit
		return fmt.Errorf("getrlimit(2): %w", err)
	}
	c := p.c
	if most := max(1, int(min(l.Cur, 1<<30)/8)); c.MaxConnections > most {
		p.log.Warn("fewer connections are served than --max-connections allows, since a process may have so many files open",
			slog.Int("max_connections", most), slog.Uint64("limit", l.Cur))
		c.MaxConnections = most
	}
	return egress.ShareDescriptors(2*c.MaxConnections+placeFDs*c.Places()+sandboxFDs*c.Sandboxes+ownFDs, c.Places())
}
