package host

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"brig/internal/sys"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// lookPoints finds the mount points to be made. It leaves those that cannot be made: where a part of the path is no
// directory, or has a link of a payload's, or where mounts of the host would be hidden.
func (h *looker) lookPoints() {
	s := h.spec
	h.Points = nil
	if s.Tier == spec.TierProcess || h.Missing["overlay"] != "" {
		return
	}
	for i, m := range s.Mounts {
		p, missing := Points{For: i}, ""
		switch j := CoveredBy(s, i); {
		case m.Type == spec.MountSymlink:
			continue
		case j < 0 && s.Rootfs.Path == "":
			p.Dir, missing = h.table.lackingBelow("/", m.Target, unix.RESOLVE_IN_ROOT|unix.RESOLVE_NO_MAGICLINKS)
			k := slices.IndexFunc(h.System, func(d SystemDir) bool { return d.Link == "" && sys.Under(p.Dir, d.Name) })
			if k < 0 {
				continue
			}
			p.base = h.System[k].Name
		case j >= 0 && s.Mounts[j].Type == spec.MountBind && !s.Mounts[j].Writable && !s.Mounts[j].Live:
			src, at := h.Sources.Of(j), s.Mounts[j].Target
			if src == nil || !src.Dir || src.NoOverlay != "" || src.Root {
				continue
			}
			p.After = j + 1
			p.Dir, missing = h.table.lackingBelow(fmt.Sprintf("/proc/self/fd/%d", src.Fd), strings.TrimPrefix(m.Target, at),
				unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_XDEV)
			p.Dir, p.base = strings.TrimPrefix(path.Join(at, p.Dir), "/"), at
		}
		if missing == "" {
			continue
		}
		if h.ShowsDir(s, i) {
			missing += "/"
		}
		p.Names = []string{missing}
		h.addPoints(p)
	}
	h.Points = slices.DeleteFunc(h.Points, func(p Points) bool { return p.After == 0 && h.table.below("/"+p.Dir) })
}

// CoveredBy returns the last of the mounts before one that shows something where its target is, or -1.
func CoveredBy(s *spec.Spec, i int) int {
	at := -1
	for j, o := range s.Mounts[:i] {
		if o.Type != spec.MountDir && o.Type != spec.MountSymlink && sys.Under(s.Mounts[i].Target, o.Target) {
			at = j
		}
	}
	return at
}

// ShowsDir reports whether one of the caller's mounts shows a directory.
func (h *Shown) ShowsDir(s *spec.Spec, i int) bool {
	switch m := s.Mounts[i]; m.Type {
	case spec.MountFile, spec.MountData:
		return false
	case spec.MountBind:
		src := h.Sources.Of(i)
		return src == nil || src.Dir
	}
	return true
}

// lackingBelow returns the deepest directory below root that the path of a target leads to, without links and relative
// to it, and what it lacks of the path; "" if that exists, or something that is no directory is in the way.
func (t table) lackingBelow(root, target string, resolve uint64) (dir, missing string) {
	top, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", ""
	}
	defer unix.Close(top)
	base, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", top))
	if err != nil {
		return "", ""
	}
	target = strings.Trim(target, "/")
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolve}
	for at := target; ; at = path.Dir(at) {
		if at != target {
			how.Flags |= unix.O_DIRECTORY
		}
		fd, err := sys.Openat2(top, at, &how)
		if err == unix.ENOENT && at != "." {
			continue
		}
		if err != nil || at == target {
			if err == nil {
				unix.Close(fd)
			}
			return "", ""
		}
		dir, err = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		unix.Close(fd)
		if err != nil || !sys.Under(dir, base) || t.below(dir) {
			return "", ""
		}
		if missing = target; at != "." {
			missing = target[len(at)+1:]
		}
		return strings.Trim(strings.TrimPrefix(dir, base), "/"), missing
	}
}

// addPoints adds points to those of the same mount: one layer has all of them, since overlays stack only twice.
func (h *Shown) addPoints(p Points) {
	for i := range h.Points {
		have := &h.Points[i]
		if have.After != p.After || have.base != p.base {
			continue
		}
		common := have.Dir
		for !sys.Under(p.Dir, common) {
			common = path.Dir(common)
		}
		for k, name := range have.Names {
			have.Names[k] = below(common, have.Dir, name)
		}
		name := below(common, p.Dir, p.Names[0])
		if have.Dir = common; !slices.Contains(have.Names, name) {
			have.Names = append(have.Names, name)
		}
		return
	}
	h.Points = append(h.Points, p)
}

// below returns the name of dir/name relative to a directory above dir.
func below(above, dir, name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(dir+"/"+name, above), "/")
}
