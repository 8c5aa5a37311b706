package nsjail

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// lookOwner decides who the payload of a root without CAP_SYS_ADMIN or CAP_SYS_PTRACE is, as in docker's default container. Such a root can
// map no owner of a bind to the payload (mount_setattr(2)). So the payload is the owner of what it is to write to, as if
// that user had called brig, but never root.
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

// plain is for a bind of such a root's: the jail opens its path again, as an ordinary user's does, and the payload may do
// there what its user may do. A bind of no use to it is an error, unless that was asked for.
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
	return &Error{Fault: FaultHost, Op: "idmap", Detail: fmt.Sprintf("%s, and %s (owner %d:%d, mode %04o) is not for the payload, which is %d:%d there",
		why, quote(src.Path), src.UID, src.GID, src.Mode&0o7777, h.PayloadUID, h.PayloadGID),
		Remedy: fmt.Sprintf("chown -R %d:%[1]d what the payload is to write to, and it runs as that user; chmod -R o+rX what it is to read; or give the container the capability (docker run --cap-add SYS_ADMIN --cap-add SYS_PTRACE)", owner)}
}

// permits is what the mode of a file allows a user, as the bits for others: path_resolution(7).
func (s *Source) permits(uid, gid int) uint32 {
	switch {
	case uid == s.UID:
		return s.Mode >> 6 & 7
	case gid == s.GID:
		return s.Mode >> 3 & 7
	}
	return s.Mode & 7
}
