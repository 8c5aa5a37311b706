package nsjail

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// lookOwner chooses the payload's uid where root lacks CAP_SYS_ADMIN or CAP_SYS_PTRACE, as in docker's default
// container. Such a root cannot map the owner of a bind to the payload (mount_setattr(2)). So the payload runs as the
// owner of the writable binds, as if that user had called brig, but never as root.
func (h *Host) lookOwner(s *Spec) error {
	if !h.Drop || h.Missing["idmap"] == "" || contains(s.Optional, "idmap") {
		return nil
	}
	for i, m := range s.Mounts {
		src := h.Sources[fmt.Sprintf("mounts[%d].source", i)]
		if m.Type != MountBind || !m.Writable || src.UID == 0 {
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

// plain checks a bind of such a root. The jail opens its path again, as an ordinary user's jail does, and the payload
// has its user's rights there. A bind that the payload cannot use is an error, unless that was asked for.
func (r *resolver) plain(src *Source, attr uint64) error {
	h, why := r.host, r.host.Missing["idmap"]
	fallback := fmt.Sprintf("binds are plain, and the payload is %d:%d to them", h.PayloadUID, h.PayloadGID)
	if plain, err := r.have("idmap", "", why, fallback); plain || err != nil || contains(r.spec.Optional, "idmap") {
		return err
	}
	need := uint32(unix.S_IROTH)
	if src.Dir {
		need |= unix.S_IXOTH
	}
	if attr&unix.MOUNT_ATTR_RDONLY == 0 {
		need |= unix.S_IWOTH
	}
	if src.permits(h.PayloadUID, h.PayloadGID)&need == need {
		return nil
	}
	owner := src.UID
	if owner == 0 {
		owner = DefaultUID
	}
	return &Error{Fault: FaultHost, Op: "idmap", Detail: fmt.Sprintf(
		"%s, and %s (owner %d:%d, mode %04o) is not for the payload, which is %d:%d there",
		why, quote(src.Path), src.UID, src.GID, src.Mode&0o7777, h.PayloadUID, h.PayloadGID),
		Remedy: fmt.Sprintf("chown -R %d:%[1]d what the payload is to write to, and it runs as that user; chmod -R o+rX "+
			"what it is to read; or give the container the capability "+
			"(docker run --cap-add SYS_ADMIN --cap-add SYS_PTRACE)", owner)}
}

// permits returns the access that the mode of a file allows a user, as the bits for others: path_resolution(7).
func (s *Source) permits(uid, gid int) uint32 {
	switch {
	case uid == s.UID:
		return s.Mode >> 6 & 7
	case gid == s.GID:
		return s.Mode >> 3 & 7
	}
	return s.Mode & 7
}
