package host

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"brig/rootfs"

	"golang.org/x/sys/unix"
)

// The most that a prepared tree copies of /etc; a larger directory is bound there, and overlaid by each jail.
const (
	maxEtcEntries = 4096
	maxEtcBytes   = 16 << 20
)

// CopyEtc returns the directories of /etc that a prepared root copies, as entries, by their name in System.
func CopyEtc(h *Host) map[string][]rootfs.Entry {
	all := map[string][]rootfs.Entry{}
	for _, d := range h.System {
		if d.Link != "" {
			continue
		}
		if list, ok := copyEtc(d.Name); ok {
			all[d.Name] = list
		}
	}
	return all
}

// copyEtc lists a directory of /etc to be copied: what everybody may read.
func copyEtc(name string) (list []rootfs.Entry, ok bool) {
	if !strings.HasPrefix(name, "etc/") {
		return nil, false
	}
	left, bytes := maxEtcEntries, int64(maxEtcBytes)
	err := filepath.WalkDir("/"+name, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if left--; left < 0 {
			return unix.E2BIG
		}
		e := rootfs.Entry{Label: "etc", Target: path[1:]}
		switch info, err := d.Info(); {
		case err != nil:
			return err
		case d.IsDir() && info.Mode()&0o005 != 0o005: // nobody but its owner sees what is in it
			return fs.SkipDir
		case d.IsDir():
			e.Kind, e.Mode = rootfs.Dir, 0o755
		case d.Type() == os.ModeSymlink:
			e.Kind = rootfs.Symlink
			if e.Text, err = os.Readlink(path); err != nil {
				return err
			}
		case d.Type().IsRegular() && info.Mode()&0o004 != 0 && info.Size() <= MaxEtcFile:
			e.Kind, e.Source, e.Size, e.Mode = rootfs.Copy, rootfs.Source{Path: path}, MaxEtcFile, 0o444
			if bytes -= info.Size(); bytes < 0 {
				return unix.E2BIG
			}
		default:
			return nil
		}
		list = append(list, e)
		return nil
	})
	return list, err == nil
}
