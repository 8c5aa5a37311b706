package changes

import (
	"errors"

	"golang.org/x/sys/unix"
)

// stager makes new files under temporary names, and notes what it makes.
type stager struct {
	*site
	notes *notes
	layer *contents
	buf   []byte
}

// prepare makes all that the changes need under temporary names, with owner, attributes and mode, and sets the
// attributes of the directories that stay. After an error undo takes it back.
func (g *stager) prepare(list *parts) error {
	for _, p := range list.places {
		if err := g.unlock(p); err != nil {
			return at(string(p.file.Path), err)
		}
	}
	for _, u := range list.units {
		for i := range u.tasks {
			if err := g.stage(u, &u.tasks[i]); err != nil {
				return at(string(u.tasks[i].file.Path), err)
			}
		}
		if err := g.close1(u); err != nil {
			return err
		}
	}
	for _, p := range list.places {
		err := g.reached("attributes " + string(p.file.Path))
		if err == nil {
			err = g.inPlace(p, p.file.New.XAttrs, nil)
		}
		if err != nil {
			return at(string(p.file.Path), err)
		}
	}
	return g.notes.phase(ready)
}

// unlock lets the caller write to a directory that stays. It shows as well whether the caller may change its mode.
func (g *stager) unlock(p *place) error {
	err := g.notes.flush(&note{Index: p.file.index, Place: &p.id, Mode: p.mode, XAttrs: p.attrs})
	if err != nil {
		return err
	}
	dir, name, err := g.enter(p.file.Path)
	if err != nil {
		return err
	}
	fd, err := g.open(dir, name, string(p.file.Path), read|unix.O_DIRECTORY)
	if err == unix.EACCES { // its owner may not read it
		return g.unlocked(dir, name, string(p.file.Path))
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := g.reached("unlock " + name); err != nil {
		return err
	}
	return unix.Fchmod(fd, p.mode|0o700)
}

// stage makes the new content of one change. In a unit that is a directory only the unit has a temporary name.
func (g *stager) stage(u *unit, t *task) error {
	if t.file.New == nil {
		return g.keepID(u, t)
	}
	path := g.tempPath(u.file, t.file)
	dir, name, err := g.enter(path)
	if err != nil {
		return err
	}
	_, last := split(string(t.file.Path))
	if err := g.reached("write " + last); err != nil {
		return err
	}
	switch t.file.New.Kind {
	case Directory:
		err = g.makeDir(u, t, dir, name, string(path))
	case Symlink:
		err = g.link(t, dir, name)
	default:
		err = g.write(t, dir, name)
	}
	if err == unix.EEXIST {
		return errTaken
	}
	u.begun = true
	if err == nil {
		err = g.reached("written " + last)
	}
	return err
}

// keepID notes which directory is to be removed, so that no other one is emptied in its place.
func (g *stager) keepID(u *unit, t *task) error {
	if !kindIs(t.now, Directory) {
		return nil
	}
	id := inodeOf(t.now.stat)
	g.dirs[string(g.tempPath(u.file, t.file))] = id
	return g.notes.add(&note{Index: t.file.index, Top: u.file.index, Dir: &id})
}

// close1 sets the attributes and modes of the directories of a unit, the deepest first, and notes the unit.
func (g *stager) close1(u *unit) error {
	for i := len(u.tasks) - 1; i >= 0; i-- {
		f := u.tasks[i].file
		if !kindIs(f.New, Directory) {
			continue
		}
		if err := g.finishDir(f, g.tempPath(u.file, f)); err != nil {
			return at(string(f.Path), err)
		}
	}
	n := &note{Index: u.file.index}
	if u.old != (inode{}) {
		n.Old = &u.old
	}
	if u.file.New != nil {
		dir, name, err := g.enter(g.tempPath(u.file, u.file))
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
		g.dirs[string(g.tempPath(u.file, u.file))] = u.old
		if err := g.notes.add(&note{Index: u.file.index, Top: u.file.index, Dir: &u.old}); err != nil {
			return err
		}
	}
	return g.notes.add(n)
}

// makeDir makes a directory with which only its owner can do anything yet: what is in it will have the same owner.
func (g *stager) makeDir(u *unit, t *task, dir int, name, path string) error {
	if err := g.reached("mkdir " + name); err != nil {
		return err
	}
	if err := unix.Mkdirat(dir, name, 0o700); err != nil {
		return err
	}
	if err := g.reached("made " + name); err != nil {
		return err
	}
	delete(g.dirs, path)
	fd, err := g.open(dir, name, path, read|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	list, err := names(fd)
	if len(list) > 0 { // another one has got the name
		delete(g.dirs, path)
		return errMoved
	}
	if err != nil {
		return err
	}
	id := g.dirs[path]
	if err := g.notes.flush(&note{Index: t.file.index, Top: u.file.index, Dir: &id}); err != nil {
		return err
	}
	return own(fd, dir, nil)
}

// finishDir sets the attributes and the mode of a new directory. The set-group-ID bit of its parent's stays.
func (g *stager) finishDir(f *File, path Name) error {
	dir, name, err := g.enter(path)
	if err != nil {
		return err
	}
	fd, err := g.open(dir, name, string(path), read|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if err := g.reached("finish " + name); err != nil {
		return err
	}
	if err := g.setAttributes(fd, f, f.New.XAttrs); err != nil {
		return err
	}
	return unix.Fchmod(fd, st.Mode&0o7000|f.New.Mode)
}
