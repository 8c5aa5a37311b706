package peers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mountsBelow lists the mount points at or below a directory, the deepest and latest first.
func mountsBelow(dir string) ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var points []string
	for _, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		point := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(fields[4])
		if point == dir || strings.HasPrefix(point, dir+"/") {
			points = append(points, point)
		}
	}
	slices.Reverse(points)
	return points, nil
}

// unmount detaches every mount below a directory, so that nothing of the host is reached through it any more.
func unmount(dir string) error {
	points, err := mountsBelow(dir)
	if err != nil {
		return err
	}
	for _, p := range points {
		if err := unix.Unmount(p, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && err != unix.EINVAL && err != unix.ENOENT {
			return &os.PathError{Op: "umount", Path: p, Err: err}
		}
	}
	if points, err = mountsBelow(dir); err == nil && len(points) > 0 {
		err = fmt.Errorf("%s is still a mount point; unmount it and remove %s", points[0], dir)
	}
	return err
}

// groupRoot is where the hierarchies of control groups are: cgroups(7).
const groupRoot = "/sys/fs/cgroup"

// removeGroups removes the control groups whose names begin with name, and those below, in every hierarchy.
func removeGroups(root, name string) error {
	var tops []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission): // it has gone, or holds nothing of ours
			return nil
		case err != nil || !d.IsDir():
			return err
		case d.Name() == name || strings.HasPrefix(d.Name(), name+"-"):
			tops = append(tops, path)
			return fs.SkipDir
		}
		return nil
	})
	errs := []error{err}
	for _, top := range tops {
		errs = append(errs, removeTree(top))
	}
	return errors.Join(errs...)
}

// removeTree removes empty directories, the deepest first. A control group is busy until its last process has been reaped.
func removeTree(top string) error {
	var dirs []string
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	slices.Reverse(dirs)
	errs := []error{err}
	for _, d := range dirs {
		err := unix.Rmdir(d)
		for range settleTries {
			if err != unix.EBUSY {
				break
			}
			pause()
			err = unix.Rmdir(d)
		}
		if err != nil && err != unix.ENOENT {
			errs = append(errs, &os.PathError{Op: "rmdir", Path: d, Err: err})
		}
	}
	return errors.Join(errs...)
}
