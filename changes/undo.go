package changes

import "golang.org/x/sys/unix"

// undoer takes an Apply back.
type undoer struct {
	*remover
	moved map[string]inode // directories that a killed Apply has made, and somebody has moved
}

// undo takes back what an Apply has prepared and renamed. What the host has written meanwhile stays. It may be called
// again after an error or a kill.
func (o *undoer) undo(list *parts) error {
	if err := o.lend(list.places); err != nil {
		return err
	}
	for _, u := range list.units {
		if err := o.restore(u); err != nil {
			return at(string(u.file.Path), err)
		}
	}
	o.close()
	for i := len(list.places) - 1; i >= 0; i-- {
		p := list.places[i]
		if err := o.inPlace(p, p.attrs, &p.mode); err != nil && !missing(err) && err != errMoved {
			return at(string(p.file.Path), err)
		}
	}
	return nil
}

// restore renames what a unit had back to its name, and removes what was prepared for it.
func (o *undoer) restore(u *unit) error {
	dir, name, err := o.enter(u.file.Path)
	if missing(err) || err == errMoved { // the host has another directory there
		return nil
	}
	if err != nil {
		return err
	}
	temp := o.temp(u.file)
	_ = o.reached("restore " + name)
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
		_, err := o.drop(u, func(f *File) *State { return f.New }, false)
		return err
	}
	ours := u.new.has(now) && o.holds(u.file, dir, name)
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
	_ = o.reached("restored " + name)
	if tmp, err = stat(dir, temp); err != nil {
		return err
	}
	if tmp == nil && !ours && kindIs(u.file.New, Directory) { // it had the name, and somebody has moved it
		o.moved[string(u.file.Path)] = u.new
	}
	if tmp == nil {
		return nil
	}
	return o.dropTemp(u, tmp)
}

// dropTemp removes what has the temporary name of a unit, unless it is somebody else's.
func (o *undoer) dropTemp(u *unit, tmp *unix.Stat_t) (err error) {
	stays := false
	if u.new.has(tmp) {
		stays, err = o.drop(u, func(f *File) *State { return f.New }, true)
	} else if u.old.has(tmp) { // the host has written what is at the name
		stays, err = o.drop(u, func(f *File) *State { return f.Old }, false)
	}
	if stays && err == nil {
		err = o.giveBack(u)
	}
	return err
}
