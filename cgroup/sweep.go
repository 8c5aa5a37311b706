package cgroup

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Sweep removes the groups of this user that killed keepers have left below the layout's directories, and kills the
// processes in them. A group in use is locked and left alone. most bounds the groups examined in each directory, and
// shortens the wait for dying processes; 0 means no bound. The first directory of a group goes last, so that a sweep
// that did not end can be repeated.
func (l *Layout) Sweep(most int) (removed []string, busy int, err error) {
	wait := removeWait
	if most > 0 {
		wait /= 10
	}
	s := sweeper{most: most, end: time.Now().Add(wait)}
	// A frozen process of version 1 cannot die, and keeps its other directories busy. An error returns with the removal.
	_ = s.each(l.Controllers["freezer"], false, (*directory).kill)
	s.busy = 0
	var errs []error
	bases := l.bases()
	for i, base := range slices.Backward(bases) {
		remove := func(d *directory) error { return s.remove(d, bases[i+1:]) }
		errs = append(errs, s.each(base, most == 0 && base == l.Dir, remove))
	}
	return s.removed, s.busy, errors.Join(errs...)
}

// NeedsSweep reports whether killed keepers may have left a group. It looks where every group has its first directory,
// if this layout has such a place, and changes nothing. A group without its first directory is found by Sweep only.
func (l *Layout) NeedsSweep(most int) (found bool) {
	freezer := l.Controllers["freezer"]
	if (freezer == "" || l.Denied["freezer"] != "") && (l.Dir == "" || l.Denied[""] != "") {
		return true
	}
	s := sweeper{most: most}
	for _, base := range []string{freezer, l.Dir} {
		err := s.each(base, false, func(*directory) error { found = true; return nil })
		found = found || err != nil
	}
	return found
}

// sweeper is the state of a Sweep.
type sweeper struct {
	most    int
	end     time.Time
	removed []string
	busy    int
}

// bases returns the directories below which groups are made, each once: those of the groups' first directories first.
func (l *Layout) bases() (list []string) {
	list = []string{l.Controllers["freezer"], l.Dir}
	for _, c := range slices.Sorted(maps.Keys(l.Controllers)) {
		if dir := l.Controllers[c]; !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return slices.DeleteFunc(list, func(dir string) bool { return dir == "" })
}

// each takes the locks of the abandoned groups in base, one after the other, and passes them to do. leaf tells it to
// remove an empty leaf.
func (s *sweeper) each(base string, leaf bool, do func(*directory) error) error {
	if base == "" {
		return nil
	}
	dir, err := os.OpenFile(base, os.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return nil // brig has made no group there
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if foreignOwner(base, 2) != "" || !isCgroup(int(dir.Fd())) {
		return nil // in version 1 the owner chooses the names; brig makes no group there
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	var errs []error
	looked := 0
	for _, name := range names {
		if !ours(name) {
			continue
		}
		if looked++; s.most > 0 && looked > s.most {
			break
		}
		errs = append(errs, s.one(int(dir.Fd()), base, name, do))
	}
	if leaf {
		errs = append(errs, removeLeaf(int(dir.Fd())))
	}
	return errors.Join(errs...)
}

// isCgroup reports whether a directory is a control group. Another mount may cover it.
func isCgroup(fd int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && (st.Type == unix.CGROUP2_SUPER_MAGIC || st.Type == unix.CGROUP_SUPER_MAGIC)
}

// ours reports whether a name is brig-PID-N.
func ours(name string) bool {
	rest, ok := strings.CutPrefix(name, "brig-")
	pid, n, two := strings.Cut(rest, "-")
	return ok && two && digits(pid) && digits(n)
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// one takes the lock of a group, which a living keeper would hold, and passes the group to do.
func (s *sweeper) one(base int, in, name string, do func(*directory) error) error {
	var st unix.Stat_t
	if err := unix.Fstatat(base, name, &st, unix.AT_SYMLINK_NOFOLLOW); removed(err) {
		return nil
	} else if err != nil {
		return os.NewSyscallError("stat "+quote(name), err)
	}
	if !ownDirectory(&st) { // another user's, or no group
		return nil
	}
	fd, err := hold(base, name)
	if err == unix.EWOULDBLOCK {
		s.busy++
	}
	if err == unix.EWOULDBLOCK || err == errGone {
		return nil
	}
	if err != nil {
		return os.NewSyscallError("open "+quote(name), err)
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &st); err != nil || !ownDirectory(&st) { // replaced since it was examined
		return err
	}
	return do(&directory{&Branch{Base: in}, base, name, fd})
}

// ownDirectory reports whether the caller owns a directory.
func ownDirectory(st *unix.Stat_t) bool {
	return int(st.Uid) == unix.Geteuid() && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// remove kills the processes of a directory and removes it, unless the group has another one in the bases before.
func (s *sweeper) remove(d *directory, before []string) error {
	for _, base := range before {
		var st unix.Stat_t
		if unix.Lstat(path.Join(base, d.name), &st) == nil && ownDirectory(&st) {
			return nil
		}
	}
	if err := d.kill(); err != nil {
		return fmt.Errorf("%s: %w", quote(d.path()), err)
	}
	if err := d.remove(s.end); err != nil {
		return fmt.Errorf("rmdir %s: %w", quote(d.path()), err)
	}
	s.removed = append(s.removed, d.path())
	return nil
}
