package changes

import (
	"errors"

	"golang.org/x/sys/unix"
)

// commit renames what was prepared. Up to the note that it is done, undo takes everything back.
func (a *applier) commit() error {
	if err := a.reached("ready"); err != nil {
		return err
	}
	for _, u := range a.units {
		if err := a.swap(u); err != nil {
			return at(string(u.file.Path), err)
		}
	}
	fd, err := open(a.dir, ".", read|unix.O_DIRECTORY) // syncfs(2) rejects O_PATH
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Syncfs(fd); err != nil {
		return err
	}
	if err := a.reached("synced"); err != nil {
		return err
	}
	return a.notes.phase(done)
}

// finishAll removes what the units have replaced, and sets the modes of the directories that stay, which may forbid
// writing, the deepest first.
func (a *applier) finishAll() error {
	for _, u := range a.units {
		if u.old == (inode{}) {
			continue
		}
		if err := a.dropOld(u); err != nil {
			return at(string(u.file.Path), err)
		}
	}
	a.close()
	for i := len(a.places) - 1; i >= 0; i-- {
		p := a.places[i]
		mode := p.mode&0o7000 | p.file.New.Mode
		_ = a.reached("finish " + string(p.file.Path))
		if err := a.inPlace(p, p.file.New.XAttrs, &mode); err != nil && !missing(err) {
			return at(string(p.file.Path), err)
		}
	}
	return nil
}

// dropOld removes what a unit has replaced. A directory in which the host has put something meanwhile stays.
func (a *applier) dropOld(u *unit) error {
	dir, _, err := a.enter(u.file.Path)
	if missing(err) || err == errMoved {
		return nil
	}
	if err != nil {
		return err
	}
	st, err := stat(dir, a.temp(u.file))
	if err != nil || !u.old.has(st) {
		return err
	}
	stays, err := a.drop(u, func(f *File) *State {
		if f == u.file && kindOf(st.Mode) != Directory { // it may be another kind than the run has seen
			return &State{Kind: kindOf(st.Mode)}
		}
		if f == u.file {
			return &State{Kind: Directory}
		}
		return f.Old
	}, false)
	if err == nil && stays {
		err = a.giveBack(u)
	}
	return err
}

// swap renames what was prepared for a unit to its name. What was there then has the temporary name. It must be what
// the plan has seen.
func (a *applier) swap(u *unit) error {
	dir, name, err := a.enter(u.file.Path)
	if err != nil {
		return err
	}
	temp, removes := a.temp(u.file), u.new == (inode{})
	if err := a.reached("swap " + name); err != nil {
		return err
	}
	if removes {
		if err := a.reached("remove " + name); err != nil {
			return err
		}
		err = move(dir, name, temp)
	} else if u.old == (inode{}) {
		err = move(dir, temp, name)
	} else {
		err = exchange(dir, temp, name)
	}
	switch {
	case err == unix.EEXIST && removes:
		return errTaken
	case err == unix.EEXIST || err == unix.ENOENT:
		return errMoved
	case err != nil:
		return err
	}
	if err := a.reached("renamed " + name); err != nil {
		return err
	}
	return a.verify(u)
}

// verify compares what a unit had, and has the temporary name now, with what the plan has seen.
func (a *applier) verify(u *unit) error {
	for i := range u.tasks {
		t := &u.tasks[i]
		if t.now == nil {
			continue
		}
		dir, name, err := a.enter(a.tempPath(u, t.file))
		if err == nil {
			var st *unix.Stat_t
			if st, err = stat(dir, name); err == nil && !same(st, t.now.stat) {
				err = errMoved
			}
		}
		if missing(err) {
			err = errMoved
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// move renames a file to a name that nothing has: renameat2(2), RENAME_NOREPLACE. On a file system without flags,
// something that gets the name at the same moment is lost.
func move(dir int, from, to string) error {
	err := unix.Renameat2(dir, from, dir, to, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	if st, err := stat(dir, to); st != nil || err != nil {
		return errors.Join(err, unix.EEXIST)
	}
	return unix.Renameat(dir, from, dir, to)
}

// spare ends the name of a file while two are exchanged without RENAME_EXCHANGE.
const spare = "-old"

// exchange exchanges two files: renameat2(2), RENAME_EXCHANGE. On a file system without it, a directory has no name for
// a moment, and what the host writes at the same moment is lost; settle ends an exchange that was killed.
func exchange(dir int, temp, name string) error {
	err := unix.Renameat2(dir, temp, dir, name, unix.RENAME_EXCHANGE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	if err = unix.Linkat(dir, name, dir, temp+spare, 0); err != nil { // a directory, or no hard links
		if err = move(dir, name, temp+spare); err != nil {
			return err
		}
	}
	if err = unix.Renameat(dir, temp, dir, name); err != nil {
		return errors.Join(err, unix.Renameat(dir, temp+spare, dir, name))
	}
	return unix.Renameat(dir, temp+spare, dir, temp)
}

// settle ends an exchange that was killed on a file system without RENAME_EXCHANGE.
func settle(u *unit, dir int, temp, name string) error {
	old, err := stat(dir, temp+spare)
	if err != nil || u.new == (inode{}) || !u.old.has(old) { // or it is somebody else's
		return err
	}
	now, err := stat(dir, name)
	switch {
	case err != nil:
		return err
	case now == nil:
		return unix.Renameat(dir, temp+spare, dir, name)
	case inodeOf(now).has(old): // two links
		return unix.Unlinkat(dir, temp+spare, 0)
	}
	return move(dir, temp+spare, temp)
}
