package host

import (
	"slices"

	"brig/internal/sys"
)

// Protected is a path in a writable mount that the payload cannot change.
type Protected struct {
	Target string `json:"target"` // in the jail
	Mount  int    `json:"mount"`
	// Path is the path of the host without symbolic links but the last one; "" in a volume, whose content Look does not
	// read.
	Path     string `json:"path,omitempty"`
	Absent   bool   `json:"absent,omitempty"` // nothing is there, so the keeper puts a Ghost there
	Text     string `json:"-"`                // of the Ghost
	Dev, Ino uint64 `json:"-"`
}

// Ghost is a protected path of the host, at whose place the keeper puts something while nothing is there: a socket,
// which git(1) and most programs pass over, or a file with Text.
type Ghost struct {
	Dir, Name, Text string
	Root            int // an open source
	Below           string
}

// HoldsStore reports whether one of brig's own directories is below a path of the host: the keeper makes both in time.
func (p *Protection) HoldsStore(full string) bool {
	return slices.ContainsFunc(p.Stores, func(dir string) bool { return dir != full && sys.Under(dir, full) })
}
