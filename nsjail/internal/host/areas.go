package host

import (
	"iter"
	"os"
	"path"
	"strconv"
	"strings"

	"brig/nsjail/internal/walk"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// area is a writable bind, or a cow, below which no file of the host changes.
type area struct {
	mount    int
	target   string // of the mount
	cow      bool
	internal bool   // spec.Held.Internal: brig's own directories may be in it
	path     string // without symbolic links
	id       walk.ID
	fd       int
}

// areas are the directories of the host in which the payload writes. They know where in them a path of the host is.
type areas struct {
	list []area
	ids  map[string]walk.ID // of files, by path
}

// newAreas returns the areas of a Spec's mounts.
func newAreas(mounts []spec.Mount, sources *Sources) (*areas, error) {
	all := &areas{ids: map[string]walk.ID{}}
	for i, m := range mounts {
		if !m.Writes() || m.Type == spec.MountVolume {
			continue
		}
		src := sources.Of(i)
		real, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(src.Fd))
		if err != nil {
			return nil, err
		}
		all.list = append(all.list, area{mount: i, target: m.Target, cow: m.Type == spec.MountCOW, internal: m.Internal(),
			path: real, id: walk.ID{Dev: src.Dev, Ino: src.Ino}, fd: src.Fd})
	}
	return all, nil
}

// with yields the areas that show a path of the host, and the path relative to each; "" for the area itself.
func (l *areas) with(full string) iter.Seq2[*area, string] {
	return func(yield func(*area, string) bool) {
		for i := range l.list {
			if rel, ok := l.below(full, &l.list[i]); ok && !yield(&l.list[i], rel) {
				return
			}
		}
	}
}

// show reports whether any area shows a path of the host.
func (l *areas) show(full string) bool {
	for range l.with(full) {
		return true
	}
	return false
}

// below returns the path of a file relative to an area. The directories above it are compared with the area's by their
// inode numbers, since one directory can be mounted at several places of the host.
func (l *areas) below(full string, a *area) (rel string, ok bool) {
	for at := full; ; at = path.Dir(at) {
		if at == a.path || (at != full || len(l.list) > 1) && l.id(at) == a.id {
			return strings.TrimPrefix(strings.TrimPrefix(full, at), "/"), true
		}
		if at == "/" || len(l.list) == 1 && len(at) < len(a.path) {
			return "", false
		}
	}
}

// in reports whether an area is a directory of the host, or below it.
func (l *areas) in(a *area, full string, id walk.ID) bool {
	for at := a.path; at != "/"; at = path.Dir(at) {
		if at == full || l.id(at) == id {
			return true
		}
	}
	return false
}

// note keeps the identity of a file that was looked at: below need not ask again.
func (l *areas) note(full string, st *unix.Stat_t) {
	if _, known := l.ids[full]; !known && len(l.list) > 1 {
		l.ids[full] = walk.IDOf(st)
	}
}

// id returns the identity of a file by its path.
func (l *areas) id(name string) walk.ID {
	id, ok := l.ids[name]
	if !ok {
		st := new(unix.Stat_t)
		if unix.Lstat(name, st) != nil {
			st = nil
		}
		id = walk.IDOf(st)
		l.ids[name] = id
	}
	return id
}
