package peers

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

const (
	settleTries = 200 // ten seconds
	settlePause = 50 * time.Millisecond
)

// settle waits for the processes that name a directory to end: what an engine leaves to clean up after itself. They are
// not children of the harness.
func settle(dir string) error {
	for range settleTries {
		left, err := naming(dir)
		if err != nil || len(left) == 0 {
			return err
		}
		time.Sleep(settlePause)
	}
	return fmt.Errorf("processes still use %s", dir)
}

// naming lists the other processes whose command line has a path below dir, or whose environment has dir.
func naming(dir string) (pids []int, err error) {
	procs, err := filepath.Glob("/proc/[0-9]*")
	for _, proc := range procs {
		// where one cannot be read the process has ended, or is another user's
		args, _ := os.ReadFile(proc + "/cmdline")
		env, _ := os.ReadFile(proc + "/environ")
		if !bytes.Contains(args, []byte(dir+"/")) && !bytes.Contains(append(env, 0), []byte("="+dir+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(proc)); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// mountsBelow lists the mount points at or below a directory, the deepest and latest first: proc_pid_mountinfo(5).
func mountsBelow(dir string) (points []string, err error) {
	text, err := sys.Mounts()
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		point := sys.MountPath(fields[4])
		if sys.Under(point, dir) {
			points = append(points, point)
		}
	}
	slices.Reverse(points)
	return points, err
}

// unmount detaches every mount below a directory, so that nothing of the host is reached through it any more.
func unmount(dir string) error {
	points, err := mountsBelow(dir)
	for _, p := range points {
		if e := unix.Unmount(p, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); e != nil && e != unix.EINVAL && e != unix.ENOENT {
			err = errors.Join(err, &os.PathError{Op: "umount", Path: p, Err: e})
		}
	}
	return err
}

// groupRoot is the parent of the hierarchies of control groups: cgroups(7).
const groupRoot = "/sys/fs/cgroup"

// removeGroups removes the control groups whose names begin with name, and those below, in every hierarchy. A control
// group is busy until its last process has been reaped.
func removeGroups(root, name string) error {
	var groups []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) { // removed meanwhile, or another user's
			return nil
		}
		below := slices.ContainsFunc(strings.Split(strings.TrimPrefix(path, root), "/"), func(part string) bool {
			return part == name || strings.HasPrefix(part, name+"-")
		})
		if err == nil && d.IsDir() && below {
			groups = append(groups, path)
		}
		return err
	})
	slices.Reverse(groups)
	for _, g := range groups {
		e := unix.Rmdir(g)
		for i := 0; e == unix.EBUSY && i < settleTries; i++ {
			time.Sleep(settlePause)
			e = unix.Rmdir(g)
		}
		if e != nil && e != unix.ENOENT {
			err = errors.Join(err, &os.PathError{Op: "rmdir", Path: g, Err: e})
		}
	}
	return err
}

// Remove removes the directory, the mounts below it and the control groups. Mounts come first, and a directory with one
// is left alone: the host's own files are mounted there.
func (h *Host) Remove() error {
	if err := errors.Join(settle(h.Dir), unmount(h.Dir)); err != nil {
		return err
	}
	err := errors.Join(removeGroups(groupRoot, h.name()), os.RemoveAll(h.Dir))
	for _, dir := range h.strays {
		_ = unix.Rmdir(dir) // it may be missing, or another program's by now
	}
	return err
}
