package host

import (
	"fmt"
	"os"
	"path/filepath"

	"brig/cgroup"
	"brig/internal/words"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// WantsGroup reports whether a Spec asks for anything that a control group is made for. A jail without a limit of this
// kind gets none: making one takes a tenth of a start.
func WantsGroup(s *spec.Spec) bool {
	return s.CgroupParent != "" || s.Limits.Processes > 0 || len(s.Limits.Asked()) > 0
}

// look reads the layout of the control groups, and the devices of Limits.IO.
func (h *Groups) look(s *spec.Spec, mounts table) (err error) {
	if !WantsGroup(s) {
		return nil
	}
	if h.Cgroup, err = cgroup.DetectIn(s.CgroupParent, string(mounts),
		s.Limits.Group().LegacyControllers()); err != nil && s.CgroupParent != "" {
		return spec.CallerError("cgroup_parent", err.Error(), "name a group that exists and is yours")
	} else if err != nil {
		return err
	}
	for i := range s.Limits.IO {
		l := &s.Limits.IO[i]
		dev, err := blockDevice(l.Path)
		if err != nil {
			return spec.CallerError(spec.Index("limits.io", i), words.Quote(l.Path)+": "+err.Error(),
				"name a block device, or a file or directory on one")
		}
		if h.Devices == nil {
			h.Devices = map[string]Device{}
		}
		h.Devices[l.Path] = dev
	}
	return nil
}

// blockDevice returns the whole disk that holds a path: there are no limits of a partition (io.max, blkio.throttle).
func blockDevice(path string) (d Device, err error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return d, err
	}
	number := st.Dev
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFBLK:
		number = st.Rdev
	case unix.S_IFCHR:
		return d, fmt.Errorf("is a character device")
	}
	d = Device{unix.Major(number), unix.Minor(number)}
	if d.Major == 0 { // overlay, tmpfs, btrfs, nfs: stat(2) gives an anonymous number
		return d, fmt.Errorf("its file system has no block device of its own")
	}
	dir, err := filepath.EvalSymlinks(fmt.Sprintf("/sys/dev/block/%d:%d", d.Major, d.Minor))
	if err != nil {
		return d, nil // sysfs is hidden: the kernel refuses a partition's number itself
	}
	if unix.Access(dir+"/partition", unix.F_OK) != nil {
		return d, nil
	}
	b, err := os.ReadFile(filepath.Dir(dir) + "/dev")
	if err == nil {
		_, err = fmt.Sscanf(string(b), "%d:%d", &d.Major, &d.Minor)
	}
	return d, err
}
