package layer

import (
	"archive/tar"
	"errors"
	"fmt"
	"strings"

	"brig/internal/sys"
	"brig/internal/words"
)

// overlay is what overlayfs's attributes mean for a file or directory.
type overlay struct{ opaque, whiteout bool }

// attributes puts the extended attributes that are kept into the header, and returns what overlayfs's mean.
func (p *packer) attributes(fd int, h *tar.Header) (of overlay, err error) {
	names, err := sys.Xattrs(fd)
	if err != nil {
		return of, fmt.Errorf("list its extended attributes: %w", err)
	}
	room := maxXattrs
	for _, name := range names {
		private, own := OverlayName(name)
		if own = own && p.options.Overlay; !own {
			room -= len(name)
		}
		value := ""
		if own || kept(name) && room >= 0 && !strings.Contains(name, "=") {
			if value, err = sys.Xattr(fd, name); err != nil {
				return of, fmt.Errorf("read the extended attribute %s: %w", words.Quote(name), err)
			}
		}
		if own {
			if err := of.read(name, private, value); err != nil {
				return of, err
			}
			continue
		}
		if room -= len(value); value == "" || room < 0 { // a PAX record has a value
			p.stats.leave(Xattr, h.Name)
			continue
		}
		if h.PAXRecords == nil {
			h.PAXRecords = map[string]string{}
		}
		h.PAXRecords[paxXattr+name] = value
	}
	return of, nil
}

// read takes in an attribute of overlayfs.
func (of *overlay) read(name, private, value string) error {
	switch private {
	case "redirect", "metacopy":
		return errors.New("a part of it is in another place of the layers below (" + name +
			"), which a layer cannot say: mount the overlay with redirect_dir=off,metacopy=off")
	case "whiteout":
		of.whiteout = true
	case "opaque":
		of.opaque = value == "y" // "x" means that there are whiteouts by attribute
	}
	return nil
}
