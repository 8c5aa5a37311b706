package changes

import (
	"cmp"
	"errors"
	"os"
	"slices"

	"brig/internal/owned"

	"golang.org/x/sys/unix"
)

// unit is a name in a directory that is there before and after the Apply. One rename changes it, with all below it.
type unit struct {
	file     *File
	tasks    []task // the change of the name, and those below it; unknown of an Apply that was killed
	new, old inode  // what was prepared for the name, and what the plan has seen there; zero for nothing
	begun    bool   // something may have the temporary name
}

// place is a directory that stays, and gets another mode or other attributes.
type place struct {
	file  *File
	id    inode
	mode  uint32 // as it was, with the set-user-ID, set-group-ID and sticky bits
	attrs []XAttr
}

// divide puts the tasks into units and places.
func (a *applier) divide() error {
	for i, end := 0, 0; i < len(a.tasks); i = end {
		t := &a.tasks[i]
		end = i + 1
		if kindIs(t.now, Directory) && kindIs(t.file.New, Directory) {
			a.places = append(a.places, &place{file: t.file, id: inodeOf(t.now.stat), mode: t.now.stat.Mode & 0o7777,
				attrs: t.now.XAttrs})
			continue
		}
		for ; end < len(a.tasks) && under(string(a.tasks[end].file.Path), string(t.file.Path)); end++ {
			if kindIs(t.file.New, Directory) != (a.tasks[end].file.New != nil) {
				return at(string(a.tasks[end].file.Path), errors.New("the set has it in what is no directory"))
			}
		}
		u := &unit{file: t.file, tasks: a.tasks[i:end]}
		if t.now != nil {
			u.old = inodeOf(t.now.stat)
		}
		a.units = append(a.units, u)
	}
	slices.SortStableFunc(a.units, func(x, y *unit) int { return cmp.Compare(a.turn(x), a.turn(y)) })
	return nil
}

// prepare makes all that the changes need under temporary names, with owner, attributes and mode, and sets the
// attributes of the directories that stay. After an error undo takes it back.
func (a *applier) prepare() error {
	for _, p := range a.places {
		if err := a.unlock(p); err != nil {
			return at(string(p.file.Path), err)
		}
	}
	for _, u := range a.units {
		for i := range u.tasks {
			if err := a.stage(u, &u.tasks[i]); err != nil {
				return at(string(u.tasks[i].file.Path), err)
			}
		}
		if err := a.close1(u); err != nil {
			return err
		}
	}
	for _, p := range a.places {
		err := a.reached("attributes " + string(p.file.Path))
		if err == nil {
			err = a.inPlace(p, p.file.New.XAttrs, nil)
		}
		if err != nil {
			return at(string(p.file.Path), err)
		}
	}
	return a.notes.phase(ready)
}

// unlock lets the caller write to a directory that stays. It shows as well whether the caller may change its mode.
func (a *applier) unlock(p *place) error {
	err := a.notes.flush(&note{Index: p.file.index, Place: &p.id, Mode: p.mode, XAttrs: p.attrs})
	if err != nil {
		return err
	}
	dir, name, err := a.enter(p.file.Path)
	if err != nil {
		return err
	}
	fd, err := a.open(dir, name, string(p.file.Path), read|unix.O_DIRECTORY)
	if err == unix.EACCES { // its owner may not read it
		if fd, err = a.open(dir, name, string(p.file.Path), holdDir); err == nil {
			defer unix.Close(fd)
			_, err = owned.Lend(fd, 0o700)
		}
		return err
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := a.reached("unlock " + name); err != nil {
		return err
	}
	return unix.Fchmod(fd, p.mode|0o700)
}

// inPlace sets the attributes of a directory that stays, and its mode unless that is nil.
func (a *applier) inPlace(p *place, attrs []XAttr, mode *uint32) error {
	dir, name, err := a.enter(p.file.Path)
	if err != nil {
		return err
	}
	fd, err := a.open(dir, name, string(p.file.Path), read|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if p.file.Path != itself {
		if err := a.setAttributes(fd, p.file, attrs); err != nil {
			return err
		}
	}
	if mode == nil {
		return nil
	}
	return unix.Fchmod(fd, *mode)
}

// tempPath is where a change of a unit is under the temporary name of the unit.
func (a *applier) tempPath(u *unit, f *File) Name {
	up, _ := split(string(u.file.Path))
	return Name(join(up, a.temp(u.file)) + string(f.Path[len(u.file.Path):]))
}

// stage makes the new content of one change. In a unit that is a directory only the unit has a temporary name.
func (a *applier) stage(u *unit, t *task) error {
	if t.file.New == nil {
		return a.keepID(u, t)
	}
	path := a.tempPath(u, t.file)
	dir, name, err := a.enter(path)
	if err != nil {
		return err
	}
	_, last := split(string(t.file.Path))
	if err := a.reached("write " + last); err != nil {
		return err
	}
	switch t.file.New.Kind {
	case Directory:
		err = a.makeDir(u, t, dir, name, string(path))
	case Symlink:
		err = a.link(t, dir, name)
	default:
		err = a.write(t, dir, name)
	}
	if err == unix.EEXIST {
		return errTaken
	}
	u.begun = true
	if err == nil {
		if err := a.reached("written " + last); err != nil {
			return err
		}
	}
	return err
}

// keepID notes which directory is to be removed, so that no other one is emptied in its place.
func (a *applier) keepID(u *unit, t *task) error {
	if !kindIs(t.now, Directory) {
		return nil
	}
	id := inodeOf(t.now.stat)
	a.dirs[string(a.tempPath(u, t.file))] = id
	return a.notes.add(&note{Index: t.file.index, Top: u.file.index, Dir: &id})
}

// close1 sets the attributes and modes of the directories of a unit, the deepest first, and notes the unit.
func (a *applier) close1(u *unit) error {
	for i := len(u.tasks) - 1; i >= 0; i-- {
		f := u.tasks[i].file
		if !kindIs(f.New, Directory) {
			continue
		}
		if err := a.finishDir(f, a.tempPath(u, f)); err != nil {
			return at(string(f.Path), err)
		}
	}
	n := &note{Index: u.file.index}
	if u.old != (inode{}) {
		n.Old = &u.old
	}
	if u.file.New != nil {
		dir, name, err := a.enter(a.tempPath(u, u.file))
		if err != nil {
			return err
		}
		st, err := stat(dir, name)
		if err != nil || st == nil {
			return errors.Join(err, at(string(u.file.Path), errMoved))
		}
		u.new = inodeOf(st)
		n.New = &u.new
	}
	if kindIs(u.tasks[0].now, Directory) && u.file.New != nil { // which stage has not noted
		a.dirs[string(a.tempPath(u, u.file))] = u.old
		if err := a.notes.add(&note{Index: u.file.index, Top: u.file.index, Dir: &u.old}); err != nil {
			return err
		}
	}
	return a.notes.add(n)
}

// makeDir makes a directory with which only its owner can do anything yet: what is in it will have the same owner.
func (a *applier) makeDir(u *unit, t *task, dir int, name, path string) error {
	if err := a.reached("mkdir " + name); err != nil {
		return err
	}
	if err := unix.Mkdirat(dir, name, 0o700); err != nil {
		return err
	}
	if err := a.reached("made " + name); err != nil {
		return err
	}
	delete(a.dirs, path)
	fd, err := a.open(dir, name, path, read|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	list, err := names(fd)
	if len(list) > 0 { // another one has got the name
		delete(a.dirs, path)
		return errMoved
	}
	if err != nil {
		return err
	}
	id := a.dirs[path]
	if err := a.notes.flush(&note{Index: t.file.index, Top: u.file.index, Dir: &id}); err != nil {
		return err
	}
	return a.own(fd, dir, nil)
}

// finishDir sets the attributes and the mode of a new directory. The set-group-ID bit of its parent's stays.
func (a *applier) finishDir(f *File, path Name) error {
	dir, name, err := a.enter(path)
	if err != nil {
		return err
	}
	fd, err := a.open(dir, name, string(path), read|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if err := a.reached("finish " + name); err != nil {
		return err
	}
	if err := a.setAttributes(fd, f, f.New.XAttrs); err != nil {
		return err
	}
	return unix.Fchmod(fd, st.Mode&0o7000|f.New.Mode)
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
