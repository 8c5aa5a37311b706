package plan

import (
	"cmp"
	"fmt"
	"slices"

	"brig/internal/tricks"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

const (
	attrPrivate = uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
	attrRead    = attrPrivate | unix.MOUNT_ATTR_RDONLY
)

// sources decides how a jail reaches the files of the host.
type sources struct {
	*input
	out *report
	fds *intake
}

// source returns how the jail reaches a file of the host. If the caller is root, the launcher is already an
// unprivileged user, so the keeper makes the mount, idmapped, and passes it. Otherwise the jail opens the path itself
// and checks the identity of the file. A jail in a prepared root, where the host's files are missing, gets the mount
// from a helper in the host's root. A plain mount keeps the owners of its files.
func (x *sources) source(id host.SourceID, target string, attr uint64, plain bool) rootfs.Source {
	h := x.host.Sources.At(id)
	s := rootfs.Source{Path: h.Path, Dev: h.Dev, Ino: h.Ino, Dir: h.Dir, Root: h.Root}
	idmap := false
	switch {
	case x.host.Drop && x.host.Missing["idmap"] != "":
		x.plain(h, attr)
		return s
	case x.host.Drop && plain:
	case x.host.Drop:
		idmap = true
		x.out.enforced["idmap"] = "binds show their owner's files as the payload's"
	case x.mode.Root == nil:
		return s
	}
	s.Passed, s.FD = true, x.fds.pass(Passed{Source: id, Attr: attr, IDMap: idmap, Target: target})
	return s
}

// plain checks a bind of root that is not idmapped. The jail opens its path again, as an ordinary user's jail does, and
// the payload has its own user's permissions there. A bind that the payload cannot use is an error, unless idmap is
// optional.
func (x *sources) plain(src *host.Source, attr uint64) {
	h, why := x.host, x.host.Missing["idmap"]
	x.out.require(x.Spec, "idmap", "", why, words.Plain(fmt.Sprintf("binds are plain, and the payload is %d:%d to "+
		"them", h.PayloadUID,
		h.PayloadGID)))
	if slices.Contains(x.Optional, "idmap") {
		return
	}
	need := uint32(unix.S_IROTH)
	if src.Dir {
		need |= unix.S_IXOTH
	}
	if attr&unix.MOUNT_ATTR_RDONLY == 0 {
		need |= unix.S_IWOTH
	}
	if src.Permits(h.PayloadUID, h.PayloadGID)&need == need {
		return
	}
	x.out.fail(spec.HostError("idmap", fmt.Sprintf(
		"%s, and %s (owner %d:%d, mode %04o) is not for the payload, which is %d:%d there",
		why, words.Quote(src.Path), src.UID, src.GID, src.Mode&0o7777, h.PayloadUID, h.PayloadGID),
		fmt.Sprintf("chown -R %d:%[1]d what the payload is to write to, and it runs as that user; chmod -R o+rX "+
			"what it is to read; or give the container the capability "+
			"(docker run --cap-add SYS_ADMIN --cap-add SYS_PTRACE)", cmp.Or(src.UID, spec.DefaultUID))))
}

// store returns how the jail reaches a directory of brig's on disk, which belongs to the payload.
func (x *sources) store(id host.SourceID, target string) *rootfs.Source {
	h := x.host.Sources.At(id)
	s := &rootfs.Source{Path: h.Path, Dev: h.Dev, Ino: h.Ino, Dir: true}
	if s.Passed = x.mode.Root != nil || x.host.Drop && x.host.Missing["idmap"] == ""; s.Passed {
		s.FD = x.fds.pass(Passed{Source: id, Attr: attrPrivate, Target: target})
	}
	return s
}

// OneOwner returns one of the sources that need an idmapped mount if all of them have the same owner, or nil. The
// launcher can then be the user namespace of all.
func (p *Plan) OneOwner() (one *host.Source) {
	for _, m := range p.Passed {
		src := p.Host.Sources.At(m.Source)
		switch {
		case !m.IDMap:
		case !tricks.OwnerMap.On(), one != nil && (one.UID != src.UID || one.GID != src.GID):
			return nil
		default:
			one = src
		}
	}
	return one
}

// NoVolume returns the error for a mount of a volume that the Runner does not have.
func NoVolume(source host.SourceID, id string) error {
	return spec.CallerError(source.String(),
		"there is no volume "+words.Quote(id)+" here: it was closed, or belongs to another program",
		"make one with Runner.NewVolume, or bind a directory")
}
