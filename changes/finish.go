package changes

// finish removes what the units have replaced, and sets the modes of the directories that stay, which may forbid
// writing, the deepest first.
func (r *remover) finish(list *parts) error {
	for _, u := range list.units {
		if u.old == (inode{}) {
			continue
		}
		if err := r.dropOld(u); err != nil {
			return at(string(u.file.Path), err)
		}
	}
	r.close()
	for i := len(list.places) - 1; i >= 0; i-- {
		p := list.places[i]
		mode := p.mode&0o7000 | p.file.New.Mode
		_ = r.reached("finish " + string(p.file.Path))
		if err := r.inPlace(p, p.file.New.XAttrs, &mode); err != nil && !missing(err) {
			return at(string(p.file.Path), err)
		}
	}
	return nil
}

// dropOld removes what a unit has replaced. A directory in which the host has put something meanwhile stays.
func (r *remover) dropOld(u *unit) error {
	dir, _, err := r.enter(u.file.Path)
	if missing(err) || err == errMoved {
		return nil
	}
	if err != nil {
		return err
	}
	st, err := stat(dir, r.temp(u.file))
	if err != nil || !u.old.has(st) {
		return err
	}
	stays, err := r.drop(u, func(f *File) *State {
		if f == u.file && kindOf(st.Mode) != Directory { // it may be another kind than the run has seen
			return &State{Kind: kindOf(st.Mode)}
		}
		if f == u.file {
			return &State{Kind: Directory}
		}
		return f.Old
	}, false)
	if err == nil && stays {
		err = r.giveBack(u)
	}
	return err
}
