package doctor

import (
	"brig/nsjail/internal/host"
)

// Facts are read from a machine by Examine. Tests invent them.
type Facts struct {
	Machine
	Trials
	// Host is what Look found for a default jail; nil if it failed, Default then has the reason.
	Host        *host.Host
	Groups      Groups
	LandlockABI int
	Libseccomp  string
	// Etc are names in /etc that something in /usr has a link to and a default jail lacks.
	Etc []string
	// Agents are the programs on PATH that would start brig where it is their bubblewrap.
	Agents []Agent
	// Unread lists what could not be read in time.
	Unread []string
}
