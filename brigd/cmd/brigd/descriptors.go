package main

import (
	"fmt"

	"brig/netns/egress"

	"golang.org/x/sys/unix"
)

// Numbers of descriptors reserved for each place, for each parked interpreter, for each sandbox, and for brigd itself.
const (
	placeFDs   = 16
	warmFDs    = 24 // with a control group of three hierarchies
	sandboxFDs = 4
	ownFDs     = 64
)

// descriptors divides RLIMIT_NOFILE. TCP connections and connections at Unix sockets have at most an eighth each. The
// networks of jails share what connections, places and sandboxes leave.
func (p *daemon) descriptors() error {
	var l unix.Rlimit
	// getrlimit(2); the Go runtime has raised it to the hard limit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("getrlimit(2): %w", err)
	}
	c := p.c
	if most := max(1, int(min(l.Cur, 1<<30)/8)); c.HTTP.MaxConnections > most {
		p.log.Warn("fewer connections are served than --max-connections allows, since a process may have so many files open",
			"max_connections", most, "limit", l.Cur)
		c.HTTP.MaxConnections = most
	}
	warm := 0
	for _, w := range c.Warm.Interpreters {
		warm += w.Count
	}
	others := 2*c.HTTP.MaxConnections + warmFDs*warm + placeFDs*c.Gate.Places() + sandboxFDs*c.Sandboxes.Max + ownFDs
	return egress.ShareDescriptors(others, c.Gate.Places())
}
