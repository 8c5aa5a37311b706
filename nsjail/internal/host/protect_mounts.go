package host

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/internal/walk"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// place is the path of a file within its file system. It does not depend on the mount by which the file is reached.
type place struct{ dev, path string }

// shown is a mount of the host that a writable bind shows: the one that contains the bind's source, or one below it.
type shown struct {
	place
	point, target string // the path of the host, and the bind's in the jail
}

// otherMounts refuses a writable bind that shows a protected file at a second place, where it is not protected, because
// the host has mounted it twice (mount --bind).
func (p *protector) otherMounts() {
	var list []shown
	table := places(ParseMounts(p.h.table, " - "))
	for _, a := range p.areas.list {
		if a.cow || a.internal || p.err != nil {
			continue
		}
		at, _ := p.placeOf(table, a.path)
		list = append(list, shown{at, a.path, a.target})
		for i := range table {
			if m := &table[i]; !m.readOnly && strings.HasPrefix(m.point(), strings.TrimSuffix(a.path, "/")+"/") {
				list = append(list, shown{m.place(), m.point(), a.target})
			}
		}
	}
	for _, x := range slices.Concat(p.h.Protected, p.views) {
		if len(list) < 2 || p.err != nil {
			return
		}
		if x.Path == "" || p.s.Mounts[x.Mount].Type == spec.MountCOW {
			continue
		}
		at, there := p.placeOf(table, x.Path)
		x.Absent = x.Absent || !there // another run may have removed its Ghost meanwhile
		for i := range list {
			p.otherMount(&list[i], x, at)
		}
	}
}

// otherMount refuses a mount if it shows a protected path, or something in it, under another name. Inode numbers tell
// whether the file is visible there, or whether another mount covers it.
func (p *protector) otherMount(m *shown, x Protected, at place) {
	other, same, ok := m.names(x.Path, at)
	id := p.areas.id
	if x.Absent {
		id = func(name string) walk.ID { return p.areas.id(path.Dir(name)) }
	}
	if ok && !p.held.covers(other) && id(other) == id(same) {
		p.fail(x.Path, "is protected, and the mount at "+words.Quote(m.target)+" shows "+words.Quote(same)+
			" writable as "+words.Quote(other)+", by a mount of the host", p.remedy(x.Path))
	}
}

// names returns the name by which a mount of the same file system has the file at a place, and the file's own name. If
// the mount's root is in that file, they are the names of that root.
func (m *shown) names(full string, at place) (other, same string, ok bool) {
	if m.dev != at.dev {
		return "", "", false
	}
	if rel, ok := within(at.path, m.path); ok {
		return path.Join(m.point, rel), full, true
	}
	rel, ok := within(m.path, at.path)
	return m.point, path.Join(full, rel), ok
}

// within returns the path of a file relative to a directory.
func within(file, dir string) (rel string, ok bool) {
	rest, ok := strings.CutPrefix(file, strings.TrimSuffix(dir, "/"))
	return strings.TrimPrefix(rest, "/"), ok && (rest == "" || rest[0] == '/')
}

func (m *MountLine) place() place { return place{m.dev, sys.MountPath(m.root)} }

// placeOf returns the place of a path, and whether the path exists. A path whose place is not known is an error.
func (p *protector) placeOf(table places, full string) (at place, there bool) {
	at, there, err := table.of(full)
	if err != nil {
		p.fail(full, err.Error(), p.remedy(full))
	}
	return at, there
}

var errUnlisted = errors.New("is in no mount that /proc/self/mountinfo lists, so that its other names are unknown")

// places is the mount table of the host.
type places []MountLine

// of returns the place of a path by the mount that it is in, and whether the path exists: STATX_MNT_ID of statx(2),
// since Linux 5.8.
func (t places) of(full string) (at place, there bool, err error) {
	var st unix.Statx_t
	statx := func(name string) error {
		return unix.Statx(unix.AT_FDCWD, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_MNT_ID, &st)
	}
	err = statx(full)
	if there = err == nil; err == unix.ENOENT {
		err = statx(path.Dir(full))
	}
	if err != nil {
		return place{}, false, fmt.Errorf("cannot be looked at: statx: %w", err)
	}
	for i := range t {
		m := &t[i]
		if rel, ok := within(full, m.point()); ok && m.id == strconv.FormatUint(st.Mnt_id, 10) {
			return place{m.dev, path.Join(m.place().path, rel)}, there, nil
		}
	}
	return place{}, false, errUnlisted
}
