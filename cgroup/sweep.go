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
// shortens the wait for dying processes; 0 means no bound.
func (l *Layout) Sweep(most int) (removed []string, busy int, err error) {
	wait := removeWait
	if most > 0 {
		wait /= 10
	}
	var errs []error
	s := sweeper{most: most, end: time.Now().Add(wait)}
	for _, base := range l.bases() {
		errs = append(errs, s.sweep(base, most == 0 && base == l.Dir))
	}
	return s.removed, s.busy, errors.Join(errs...)
}

// QuickSweep is Sweep where any group has its first directory, and reports whether it has removed one. The groups then
// have others in the hierarchies that this layout leaves out.
func (l *Layout) QuickSweep(most int) (found bool, err error) {
	first := Layout{Dir: l.Dir, Controllers: map[string]string{"freezer": l.Controllers["freezer"]}}
	removed, _, err := first.Sweep(most)
	return len(removed) > 0, err
}

// sweeper is the state of a Sweep.
type sweeper struct {
	most    int
	end     time.Time
	removed []string
	busy    int
}

// bases returns the directories below which groups are made, each once.
func (l *Layout) bases() (list []string) {
	list = []string{l.Controllers["freezer"], l.Dir} // a frozen process cannot die, and keeps its other directories busy
	for _, c := range slices.Sorted(maps.Keys(l.Controllers)) {
		if dir := l.Controllers[c]; !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return slices.DeleteFunc(list, func(dir string) bool { return dir == "" })
}

func (s *sweeper) sweep(base string, leaf bool) error {
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
		gone, err := s.one(int(dir.Fd()), base, name)
		if gone {
			s.removed = append(s.removed, path.Join(base, name))
		}
		errs = append(errs, err)
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

// one takes the lock of a group, which a living keeper would hold, and removes the group.
func (s *sweeper) one(base int, in, name string) (gone bool, err error) {
	var st unix.Stat_t
	if err := unix.Fstatat(base, name, &st, unix.AT_SYMLINK_NOFOLLOW); removed(err) {
		return false, nil
	} else if err != nil {
		return false, os.NewSyscallError("stat "+quote(name), err)
	}
	if int(st.Uid) != unix.Geteuid() || st.Mode&unix.S_IFMT != unix.S_IFDIR { // another user's, or no group
		return false, nil
	}
	fd, err := hold(base, name)
	if err == unix.EWOULDBLOCK {
		s.busy++
	}
	if err == unix.EWOULDBLOCK || err == errGone {
		return false, nil
	}
	if err != nil {
		return false, os.NewSyscallError("open "+quote(name), err)
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &st); err != nil || int(st.Uid) != unix.Geteuid() { // replaced since it was examined
		return false, err
	}
	d := &directory{&Branch{Base: in}, base, name, fd}
	if err := d.kill(); err != nil {
		return false, fmt.Errorf("%s: %w", quote(d.path()), err)
	}
	if err := d.remove(s.end); err != nil {
		return false, fmt.Errorf("rmdir %s: %w", quote(d.path()), err)
	}
	return true, nil
}
