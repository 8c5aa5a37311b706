package doctor

import (
	"strings"

	"brig/nsjail/internal/host"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Blame replaces a general remedy by the reason that this machine's files show. It runs only after a failure, so its
// cost does not matter.
func Blame(e *spec.Error) *spec.Error {
	switch e.Errno {
	case unix.EPERM, unix.EACCES, unix.ENOSYS, unix.ENOSPC:
	default:
		return e
	}
	m := new(reader).machine()
	if causes := blockers(&m, &Trials{Default: Trial{Tried: true, Err: e}}); len(causes) > 0 {
		e.Fault, e.Remedy = spec.FaultHost, causes[0].why+"; "+causes[0].fix
		if strings.HasPrefix(string(causes[0].why), host.AppArmorSwitch) {
			e.Remedy = causes[0].why + "; `brig doctor` prints the profile to install"
		}
	}
	return e
}
