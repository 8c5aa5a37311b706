package host

import (
	"slices"
	"strings"

	"brig/internal/sys"
	"brig/nsjail/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

// maxTops bounds the entries of the top directory of a tree that are mounted one by one.
const maxTops = 256

// lookTops lists the top directory of a tree over which no overlay can be made, if it lacks a mount point of the jail.
// There the jail can have a top directory of its own. Where it cannot be read, the tree must have its mount points.
func (h *looker) lookTops(tree *Source) {
	h.ImageTops = nil
	if h.spec.Rootfs.Writable || tree.NoOverlay == "" && h.Kernel.AtLeast(5, 19) { // before that none is idmapped
		return
	}
	if !slices.ContainsFunc(topPoints(h.spec), func(name string) bool {
		var st unix.Stat_t
		return unix.Fstatat(tree.Fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == unix.ENOENT
	}) {
		return
	}
	if list, err := topsOf(tree.Fd); err == nil && len(list) <= maxTops {
		h.ImageTops = list
	}
}

// topPoints returns the names in the top directory of the mount points that a jail of the Spec needs.
func topPoints(s *spec.Spec) []string {
	names := []string{"dev", "proc", "tmp", strings.Trim(spec.DefaultWorkdir, "/")}
	for _, m := range s.Mounts {
		name, _, _ := strings.Cut(strings.TrimPrefix(m.Target, "/"), "/")
		names = append(names, name)
	}
	return names
}

// topsOf lists a directory, without what the jail mounts there itself, in the order of the names.
func topsOf(dir int) (list []rootfs.Top, err error) {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for e, err := range sys.Entries(fd, make([]byte, sys.EntriesSize)) {
		if err != nil {
			return nil, err
		}
		top := rootfs.Top{Name: strings.Clone(e.Name()), Dir: e.Kind == unix.S_IFDIR}
		if top.Name == "dev" || top.Name == "proc" {
			continue
		}
		if e.Kind == unix.S_IFLNK {
			var text [unix.PathMax]byte
			n, err := unix.Readlinkat(fd, top.Name, text[:])
			if err != nil {
				return nil, err
			}
			top.Link = string(text[:n])
		}
		if list = append(list, top); len(list) > maxTops {
			break
		}
	}
	slices.SortFunc(list, func(a, b rootfs.Top) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}
