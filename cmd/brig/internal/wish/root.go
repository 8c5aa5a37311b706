package wish

import (
	"errors"
	"fmt"
	"strings"

	"brig/internal/cli"
	"brig/nsjail/spec"
)

// rootFlags returns the flags for a root that is not the host's.
func rootFlags(s *sheet) []cli.Flag {
	return []cli.Flag{
		{Name: "rootfs", Args: "DIR", Files: true, Path: "rootfs.path", Set: s.setRootfs,
			Help: "use the directory tree DIR as the root instead of the host's /usr"},
		{Name: "rootfs-writable", Args: "SIZE,inodes=N,store=disk", Path: "rootfs.writable", Set: s.setRootfsWritable,
			Bare: cli.Switch(&s.spec.Rootfs.Writable, true),
			Help: "let the payload write to its root; up to SIZE is kept in memory, or on disk, and dropped at the end"},
	}
}

func (s *sheet) setRootfs(v []string) error {
	if v[0] == "" {
		return errors.New("it is empty; name a directory")
	}
	s.note("rootfs") // the path under which Look reports errors of the root
	s.spec.Rootfs.Path = v[0]
	return nil
}

func (s *sheet) setRootfsWritable(v []string) (err error) {
	root := &s.spec.Rootfs
	for option := range strings.SplitSeq(v[0], ",") {
		name, value, _ := strings.Cut(option, "=")
		switch name {
		case "store":
			root.Store = value
		case "inodes":
			err = setInodes(&root.Inodes, value)
		default:
			size := strings.TrimPrefix(option, "size=")
			if _, err := spec.ParseBytes(size); err != nil {
				return fmt.Errorf("%w; it is SIZE, inodes=N and store=disk, as in --rootfs-writable=1g,store=disk", err)
			}
			err = setSize(&root.Size, size, "--rootfs-writable=1g")
		}
		if err != nil {
			return err
		}
	}
	for _, field := range []string{"rootfs.size", "rootfs.inodes", "rootfs.store"} {
		s.note(field)
	}
	root.Writable = true
	return nil
}
