package changes

import (
	"os"

	"brig/internal/owned"

	"golang.org/x/sys/unix"
)

// perform makes the changes in four passes: it makes directories writable; removes files, the deepest first; makes
// directories and files; and sets the final modes of directories, which may forbid writing.
func (a *applier) perform() error {
	steps := []struct {
		do    func(*task, int, string) error
		wants func(*task) bool
		back  bool
	}{
		{a.unlock, func(t *task) bool { return kindIs(t.now, Directory) && t.now.Mode&0o700 != 0o700 }, false},
		{a.remove, func(t *task) bool {
			return t.now != nil && (t.file.New == nil || kindIs(t.now, Directory) != kindIs(t.file.New, Directory))
		}, true},
		{a.makeDir, func(t *task) bool { return kindIs(t.file.New, Directory) }, false},
		{a.put, func(t *task) bool { return kindIs(t.file.New, Regular, Symlink) }, false},
		{a.finishDir, func(t *task) bool { return kindIs(t.file.New, Directory) }, true},
	}
	for _, s := range steps {
		for i := range a.tasks {
			t := &a.tasks[i]
			if s.back {
				t = &a.tasks[len(a.tasks)-1-i]
			}
			if !s.wants(t) {
				continue
			}
			dir, name, err := a.enter(t.file.Path)
			if err == nil {
				err = s.do(t, dir, name)
			}
			if err != nil {
				return at(string(t.file.Path), err)
			}
		}
	}
	return nil
}

// unlock lets the caller write to a directory, or remove what is in it. finishDir sets its mode in the end.
func (a *applier) unlock(t *task, dir int, name string) error {
	fd, err := a.open(dir, name, string(t.file.Path), holdDir)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	a.reached("unlock " + name)
	_, err = owned.Lend(fd, 0o700)
	return err
}

// remove removes a file, if it is still the one that the plan has seen, or an empty directory.
func (a *applier) remove(t *task, dir int, name string) error {
	a.reached("remove " + name)
	defer func() { t.now = nil }()
	if t.now.Kind != Directory {
		return a.rename(t, dir, name)
	}
	a.close() // it may be the directory itself
	dir, name, err := a.enter(t.file.Path)
	if err != nil {
		return err
	}
	return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
}

// makeDir makes a directory with which only its owner can do anything yet: what is in it will have the same owner. An
// Apply that was interrupted may have made it.
func (a *applier) makeDir(t *task, dir int, name string) error {
	isNew := !kindIs(t.now, Directory)
	if isNew {
		a.reached("mkdir " + name)
		if err := unix.Mkdirat(dir, name, 0o700); err != nil {
			return err
		}
		delete(a.dirs, string(t.file.Path))
		a.reached("made " + name)
	} else if !a.resumed || t.file.Old != nil {
		return nil
	}
	fd, err := a.open(dir, name, string(t.file.Path), read|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	list, err := names(fd)
	if isNew && len(list) > 0 { // another one has got the name
		return errMoved
	}
	if err != nil || len(list) > 0 {
		return err
	}
	return a.own(fd, dir, nil)
}

// finishDir sets the attributes and the mode of a directory. The set-group-ID and sticky bits of the host stay.
func (a *applier) finishDir(t *task, dir int, name string) error {
	fd, err := a.open(dir, name, string(t.file.Path), read|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	a.reached("finish " + name)
	if err := a.setAttributes(fd, t.file.New); err != nil {
		return err
	}
	return unix.Fchmod(fd, st.Mode&0o7000|t.file.New.Mode)
}

// own sets the owner of an open file to that of old, which it replaces, or else of the directory. Only root can give
// files away; another caller can set a group that it is in. fchownat(2) takes O_PATH.
func (a *applier) own(fd, dir int, old *State) error {
	var st unix.Stat_t
	if old != nil {
		st = *old.stat
	} else if err := unix.Fstat(dir, &st); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		return unix.Fchownat(fd, "", int(st.Uid), int(st.Gid), unix.AT_EMPTY_PATH)
	}
	if old == nil {
		return nil // the kernel has set the group
	}
	if err := unix.Fchownat(fd, "", -1, int(st.Gid), unix.AT_EMPTY_PATH); err != unix.EPERM {
		return err
	}
	return nil
}
