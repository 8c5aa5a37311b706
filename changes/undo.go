package changes

import (
	"errors"
	"fmt"

	"brig/internal/owned"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// undo takes back what an Apply has prepared and renamed. What the host has written meanwhile stays. It may be called
// again after an error or a kill.
func (a *applier) undo() error {
	if err := a.lend(); err != nil {
		return err
	}
	for _, u := range a.units {
		if err := a.restore(u); err != nil {
			return at(string(u.file.Path), err)
		}
	}
	a.close()
	for i := len(a.places) - 1; i >= 0; i-- {
		p := a.places[i]
		if err := a.inPlace(p, p.attrs, &p.mode); err != nil && !missing(err) && err != errMoved {
			return at(string(p.file.Path), err)
		}
	}
	return nil
}

// lend lets the caller into the directories that stay, of which the Apply may have set the modes.
func (a *applier) lend() error {
	for _, p := range a.places {
		dir, name, err := a.enter(p.file.Path)
		if err == nil {
			a.dirs[string(p.file.Path)] = p.id
			err = a.unlocked(dir, name, string(p.file.Path))
		}
		if err != nil && !missing(err) && err != errMoved {
			return at(string(p.file.Path), err)
		}
	}
	return nil
}

// unlocked adds rights of the owner to a directory.
func (a *applier) unlocked(dir int, name, path string) error {
	fd, err := a.open(dir, name, path, holdDir)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = owned.Lend(fd, 0o700)
	return err
}

// restore renames what a unit had back to its name, and removes what was prepared for it.
func (a *applier) restore(u *unit) error {
	dir, name, err := a.enter(u.file.Path)
	if missing(err) || err == errMoved { // the host has another directory there
		return nil
	}
	if err != nil {
		return err
	}
	temp := a.temp(u.file)
	_ = a.reached("restore " + name)
	if err := settle(u, dir, temp, name); err != nil {
		return err
	}
	now, err := stat(dir, name)
	if err != nil {
		return err
	}
	tmp, err := stat(dir, temp)
	if err != nil {
		return err
	}
	if u.new == (inode{}) && u.begun {
		_, err := a.drop(u, func(f *File) *State { return f.New }, false)
		return err
	}
	ours := u.new.has(now) && a.holds(u.file, dir, name)
	switch {
	case ours && u.old != (inode{}) && tmp != nil:
		err = exchange(dir, temp, name)
	case ours && u.old == (inode{}):
		if tmp != nil { // somebody has put it there
			err = move(dir, temp, temp+"-other")
		}
		if err == nil {
			err = move(dir, name, temp)
		}
	case now == nil && tmp != nil && u.old != (inode{}) && !u.new.has(tmp):
		err = move(dir, temp, name)
	}
	if err != nil {
		return err
	}
	_ = a.reached("restored " + name)
	if tmp, err = stat(dir, temp); err != nil {
		return err
	}
	if tmp == nil && !ours && kindIs(u.file.New, Directory) { // it had the name, and somebody has moved it
		a.moved[string(u.file.Path)] = u.new
	}
	if tmp == nil {
		return nil
	}
	return a.dropTemp(u, tmp)
}

// dropTemp removes what has the temporary name of a unit, unless it is somebody else's.
func (a *applier) dropTemp(u *unit, tmp *unix.Stat_t) (err error) {
	stays := false
	if u.new.has(tmp) {
		stays, err = a.drop(u, func(f *File) *State { return f.New }, true)
	} else if u.old.has(tmp) { // the host has written what is at the name
		stays, err = a.drop(u, func(f *File) *State { return f.Old }, false)
	}
	if stays && err == nil {
		err = a.giveBack(u)
	}
	return err
}

// holds reports whether a file has the content that the set has prepared for it: otherwise the host has written to it.
// Its attributes may
// have been left out.
func (a *applier) holds(f *File, dir int, name string) bool {
	a.read.like = f
	s, err := a.read.state(dir, name)
	return err == nil && kindIs(s, f.New.Kind) && s.Size == f.New.Size && s.Target == f.New.Target &&
		(s.SHA256 == f.New.SHA256 || s.SHA256 == "") // its mode may forbid to read it
}

// drop removes what has the temporary name of a unit: the changes below it by their names, and nothing else. With
// check, a file that has other bytes by now than were prepared for it stays. It reports whether something has stayed.
func (a *applier) drop(u *unit, side func(*File) *State, check bool) (stays bool, err error) {
	below := a.all[u.file.index:]
	n := 1
	for n < len(below) && under(string(below[n].Path), string(u.file.Path)) {
		n++
	}
	a.close()
	for _, f := range below[:n] {
		if path := string(a.tempPath(u, f)); kindIs(side(f), Directory) && a.isKnown(path) {
			dir, name, err := a.enter(Name(path))
			if err == nil {
				err = a.unlocked(dir, name, path)
			}
			if err != nil && !missing(err) && err != errMoved {
				return false, err
			}
		}
	}
	for n--; n >= 0; n-- {
		f := below[n]
		if side(f) == nil {
			continue
		}
		more, err := a.dropFile(u, f, side(f), check)
		if stays = stays || more; err != nil {
			return stays, err
		}
	}
	return stays, nil
}

// isKnown reports whether an Apply has made or moved a directory, so that its files may be removed.
func (a *applier) isKnown(path string) bool { _, ok := a.dirs[path]; return ok }

// dropFile removes one file or empty directory, and reports whether something stays there.
func (a *applier) dropFile(u *unit, f *File, s *State, check bool) (stays bool, err error) {
	path := a.tempPath(u, f)
	if up, _ := split(string(path)); f != u.file && !a.isKnown(up) {
		return true, nil
	}
	if s.Kind == Directory && a.parentPath == string(path) {
		a.close()
	}
	dir, name, err := a.enter(path)
	if missing(err) {
		return false, nil
	}
	if err == errMoved {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	_ = a.reached("drop " + name)
	flags := 0
	if s.Kind == Directory {
		flags = unix.AT_REMOVEDIR
	} else if check && !a.holds(f, dir, name) {
		return true, nil
	}
	switch err = unix.Unlinkat(dir, name, flags); err {
	case unix.ENOENT:
		return false, nil
	case unix.ENOTEMPTY, unix.EEXIST, unix.ENOTDIR, unix.EISDIR: // something of the host's
		return true, nil
	case unix.EPERM, unix.EACCES: // an immutable file in a directory that was to be removed
		a.left = append(a.left, Refused{f.Path, "it could not be removed: " + words.Message(err)})
		return true, nil
	}
	return false, err
}

// giveBack renames a directory in which something has stayed to the name of its unit. Where another file has that, it
// is an error that names it.
func (a *applier) giveBack(u *unit) error {
	dir, name, err := a.enter(u.file.Path)
	if err != nil {
		return err
	}
	temp := a.temp(u.file)
	err = move(dir, temp, name)
	if err == unix.EEXIST {
		a.left = append(a.left, Refused{u.file.Path,
			"what the host has put there meanwhile is in " + words.Plain(GitQuote(temp))})
		return nil
	}
	if err == unix.ENOENT {
		return nil
	}
	return err
}

// recover loads the notes of an Apply that was killed.
func (a *applier) recover() (phase string, err error) {
	err = a.set.readNotes(func(n *note) error {
		if n.Phase != "" {
			phase = n.Phase
			return nil
		}
		if n.Index < 0 || n.Index >= len(a.all) || n.Top < 0 || n.Top >= len(a.all) {
			return errors.New("the set has no such change")
		}
		f := a.all[n.Index]
		switch {
		case n.Place != nil:
			a.places = append(a.places, &place{f, *n.Place, n.Mode, n.XAttrs})
		case n.Dir != nil:
			if !under(string(f.Path), string(a.all[n.Top].Path)) {
				return errors.New("it is not below its unit")
			}
			a.dirs[string(a.tempPath(&unit{file: a.all[n.Top]}, f))] = *n.Dir
		default:
			u := &unit{file: f}
			if n.New != nil {
				u.new = *n.New
			}
			if n.Old != nil {
				u.old = *n.Old
			}
			a.units = append(a.units, u)
		}
		return nil
	})
	if err != nil || phase != "" {
		return phase, err
	}
	return "", a.sweep()
}

// sweep removes what an Apply has prepared that was killed before it was ready. Nothing has another name yet.
func (a *applier) sweep() error {
	a.units = nil
	if err := a.lend(); err != nil {
		return err
	}
	for _, f := range a.all {
		if f.New == nil {
			continue
		}
		dir, _, err := a.enter(f.Path)
		if missing(err) || err == errMoved {
			continue
		}
		if err != nil {
			return at(string(f.Path), err)
		}
		st, err := stat(dir, a.temp(f))
		if err != nil || st == nil {
			continue
		}
		if isDir := kindOf(st.Mode) == Directory; isDir != (f.New.Kind == Directory) {
			continue // somebody else's
		}
		if _, err := a.drop(&unit{file: f}, func(f *File) *State { return f.New }, false); err != nil {
			return at(string(f.Path), fmt.Errorf("remove what was prepared: %w", err))
		}
	}
	return nil
}
