package layer

import (
	"archive/tar"
	"fmt"
	"maps"
	"slices"
	"strings"

	"brig/internal/sys"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

const (
	paxXattr = "SCHILY.xattr." // of a PAX record that holds an extended attribute
	// maxXattrs bounds, in bytes, the names and values of the extended attributes of one file: readers refuse a PAX
	// header over 1 MiB.
	maxXattrs = 256 << 10
)

// OverlayName returns the part of an attribute's name that follows overlayfs's prefix (overlayfs.rst of the kernel).
func OverlayName(name string) (string, bool) {
	if private, ok := strings.CutPrefix(name, "user.overlay."); ok {
		return private, true
	}
	return strings.CutPrefix(name, "trusted.overlay.")
}

// kept reports whether an extended attribute is passed on: those that any user may set, but for overlayfs's own.
func kept(name string) bool {
	_, overlay := OverlayName(name)
	return strings.HasPrefix(name, "user.") && !overlay
}

// Xattrs returns the names of the extended attributes of an open file that layers keep.
func Xattrs(fd int) ([]string, error) {
	all, err := sys.Xattrs(fd)
	return slices.DeleteFunc(all, func(name string) bool { return !kept(name) }), err
}

// attributes sets the extended attributes of an entry that are kept: fsetxattr(2).
func (u *unpacker) attributes(h *tar.Header, fd int) error {
	for _, record := range slices.Sorted(maps.Keys(h.PAXRecords)) {
		name, ok := strings.CutPrefix(record, paxXattr)
		if !ok {
			continue
		}
		if !kept(name) {
			u.stats.leave(Xattr, h.Name)
			continue
		}
		switch err := unix.Fsetxattr(fd, name, []byte(h.PAXRecords[record]), 0); err {
		case nil:
		case unix.EOPNOTSUPP, unix.E2BIG, unix.ERANGE, unix.ENOSPC, unix.EINVAL: // the file system has no room for it
			u.stats.leave(Xattr, h.Name)
		default:
			return fmt.Errorf("set the attribute %s: %w", words.Quote(name), err)
		}
	}
	return nil
}

// strip removes the attributes that a directory has from a layer below: fremovexattr(2).
func strip(fd int) error {
	names, err := Xattrs(fd)
	for _, name := range names {
		if err := unix.Fremovexattr(fd, name); err != nil {
			return fmt.Errorf("remove the attribute %s: %w", words.Quote(name), err)
		}
	}
	return err
}
