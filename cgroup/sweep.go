package cgroup

import (
	"errors"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Sweep removes the groups of this user that killed processes have left below the layout's directories, and ends
// what is still in them. A group in use is locked and left alone. most bounds how many are looked at; 0 is all.
func (l *Layout) Sweep(most int) (removed []string, busy int, err error) {
	var errs []error
	for _, base := range l.bases() {
		gone, used, err := sweep(base, most)
		removed, busy, errs = append(removed, gone...), busy+used, append(errs, err)
	}
	if most == 0 && l.Dir != "" {
		errs = append(errs, removeLeaf(l.Dir))
	}
	return removed, busy, errors.Join(errs...)
}

// bases are the directories that groups go below, each once.
func (l *Layout) bases() (list []string) {
	add := func(dir string) {
		for _, have := range list {
			if have == dir {
				return
			}
		}
		if dir != "" {
			list = append(list, dir)
		}
	}
	add(l.Dir)
	for _, c := range sortedKeys(l.Controllers) {
		add(l.Controllers[c])
	}
	return list
}

func sweep(base string, most int) (removed []string, busy int, err error) {
	dir, err := os.OpenFile(base, os.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return nil, 0, nil // then nothing of ours is there
	}
	if err != nil {
		return nil, 0, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, 0, err
	}
	var errs []error
	for _, name := range names {
		if !ours(name) {
			continue
		}
		if most--; most == -1 {
			break
		}
		gone, used, err := sweepOne(dir, name)
		if gone {
			removed = append(removed, path.Join(base, name))
		}
		if used {
			busy++
		}
		errs = append(errs, err)
	}
	return removed, busy, errors.Join(errs...)
}

// ours says whether a name is brig-PID-N.
func ours(name string) bool {
	rest, ok := strings.CutPrefix(name, "brig-")
	pid, n, two := strings.Cut(rest, "-")
	return ok && two && digits(pid) && digits(n)
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// sweepOne takes the lock that a living process would hold, and keeps it until the group is gone.
func sweepOne(base *os.File, name string) (gone, busy bool, err error) {
	fd, err := unix.Openat(int(base.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT || err == unix.EACCES { // gone, or another user's
		return false, false, nil
	}
	if err != nil {
		return false, false, os.NewSyscallError("open "+name, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false, false, os.NewSyscallError("fstat "+name, err)
	}
	if int(st.Uid) != unix.Geteuid() {
		return false, false, nil
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return false, err == unix.EWOULDBLOCK, nil
	}
	d := &directory{base: base, fd: fd, path: path.Join(base.Name(), name)}
	if d.put("cgroup.kill", "1") != nil {
		if err := d.killEach(); err != nil {
			return false, false, err
		}
	}
	if err := d.remove(); err != nil {
		return false, false, os.NewSyscallError("rmdir "+d.path, err)
	}
	return true, false, nil
}
