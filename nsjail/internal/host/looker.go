package host

import (
	"errors"
	"os"

	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// newHost returns a Host with the caller's ids only.
func newHost() *Host {
	return &Host{Caller: Caller{UID: os.Geteuid(), GID: os.Getegid()}, Machine: Machine{Missing: map[string]spec.Text{}}}
}

// looker reads the machine for one Spec. It has what reading takes beside the Host, and ends with it.
type looker struct {
	*Host
	spec   *spec.Spec
	remote remote
	table  table // the caller's mounts
	bound  int64 // bytes of the files that are shown as copies
}

// Close closes the files that Look has opened.
func (h *Host) Close() error {
	var errs []error
	for _, s := range h.Sources.All() {
		if s.Fd > 0 {
			errs = append(errs, unix.Close(s.Fd))
			s.Fd = -1
		}
	}
	return errors.Join(errs...)
}
