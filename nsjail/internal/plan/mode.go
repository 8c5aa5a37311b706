package plan

import (
	"brig/internal/program"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

// Mode describes the launcher that makes the jail. The zero value is an unprepared launcher in the host's root.
type Mode struct {
	// Forked means that the process's main thread has forked the launcher before main (ForkedRunner). The keeper and the
	// launcher then serve one jail only.
	Forked bool `json:"early"`
	// Net means that the jail starts in an existing network namespace with lo up.
	Net bool `json:"net"`
	// UID and GID are the host ids that root's launcher has assumed; 0 if it is still to assume those of Host.
	UID int `json:"uid"`
	GID int `json:"gid"`
	// Terminal is 1 more than the number of the first stream that is a terminal in place of the caller's; 0 for none.
	Terminal int `json:"terminal,omitempty"`
	// Box means that the jail has no payload of its own: its init performs the programs of processes that come later.
	Box bool `json:"box,omitempty"`
	// Note is appended to Plan.Notes.
	Note string `json:"note"`

	Root *PreparedRoot // the launcher's prepared root; nil for the host's root
}

// PreparedRoot is the root of a launcher whose jails copy its few mounts instead of all mounts of the host.
type PreparedRoot struct {
	Host    *host.Host // the facts at the creation of the root
	etc     bool       // it has the complete /etc of a jail with the default identity
	NoSetns bool       // an outer filter forbids setns(2)
	Steps   []Preparation
}

// facts returns the Host, or a copy adapted to the mode.
func (m *Mode) facts(s *spec.Spec, h *host.Host) *host.Host {
	switch {
	case m.Root != nil:
		return h.OnPrepared(m.Root.Host, s.Rootfs.Path == "")
	case m.UID != 0:
		return h.WithPayload(m.UID, m.GID)
	}
	return h
}

// Preparation is a program that a Runner's launcher performs once, before it makes jails.
type Preparation struct {
	What    string
	Program *program.Program
	Request program.Request
}
