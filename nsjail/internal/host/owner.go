package host

import (
	"fmt"
	"slices"

	"brig/nsjail/internal/spec"
)

// lookOwner chooses the payload's uid where root lacks CAP_SYS_ADMIN or CAP_SYS_PTRACE, as in docker's default
// container. Such a root cannot map the owner of a bind to the payload (mount_setattr(2)). So the payload runs as the
// owner of the writable binds, as if that user had called brig, but never as root.
func (h *Host) lookOwner(s *spec.Spec) error {
	if !h.Drop || h.Missing["idmap"] == "" || slices.Contains(s.Optional, "idmap") {
		return nil
	}
	for i, m := range s.Mounts {
		src := h.Sources[fmt.Sprintf("mounts[%d].source", i)]
		if m.Type != spec.MountBind || !m.Writable || src.UID == 0 {
			continue
		}
		h.Owner, h.PayloadUID, h.PayloadGID = src.UID, src.UID, src.GID
		if src.GID == 0 {
			h.PayloadGID = src.UID
		}
		return nil
	}
	return nil
}

// Permits returns the access that the mode of a file allows a user, as the bits for others: path_resolution(7).
func (s *Source) Permits(uid, gid int) uint32 {
	switch {
	case uid == s.UID:
		return s.Mode >> 6 & 7
	case gid == s.GID:
		return s.Mode >> 3 & 7
	}
	return s.Mode & 7
}
