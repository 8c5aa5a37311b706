package changes

import (
	"errors"
	"fmt"
)

// recover loads the notes of an Apply that was killed.
func (o *undoer) recover(set *Set) (p *parts, phase string, err error) {
	p = new(parts)
	err = set.readNotes(func(n *note) error {
		if n.Phase != "" {
			phase = n.Phase
			return nil
		}
		return o.recall(p, n)
	})
	if err != nil || phase != "" {
		return p, phase, err
	}
	p.units = nil // nothing has another name yet
	return p, "", o.sweep(p.places)
}

// recall adds to parts what one note is about.
func (o *undoer) recall(p *parts, n *note) error {
	if n.Index < 0 || n.Index >= len(o.all) || n.Top < 0 || n.Top >= len(o.all) {
		return errors.New("the set has no such change")
	}
	f := o.all[n.Index]
	switch {
	case n.Place != nil:
		p.places = append(p.places, &place{f, *n.Place, n.Mode, n.XAttrs})
	case n.Dir != nil:
		if !under(string(f.Path), string(o.all[n.Top].Path)) {
			return errors.New("it is not below its unit")
		}
		o.dirs[string(o.tempPath(o.all[n.Top], f))] = *n.Dir
	default:
		u := &unit{file: f}
		if n.New != nil {
			u.new = *n.New
		}
		if n.Old != nil {
			u.old = *n.Old
		}
		p.units = append(p.units, u)
	}
	return nil
}

// sweep removes what an Apply has prepared that was killed before it was ready. Nothing has another name yet.
func (o *undoer) sweep(places []*place) error {
	if err := o.lend(places); err != nil {
		return err
	}
	for _, f := range o.all {
		if f.New == nil {
			continue
		}
		dir, _, err := o.enter(f.Path)
		if missing(err) || err == errMoved {
			continue
		}
		if err != nil {
			return at(string(f.Path), err)
		}
		st, err := stat(dir, o.temp(f))
		if err != nil || st == nil {
			continue
		}
		if isDir := kindOf(st.Mode) == Directory; isDir != (f.New.Kind == Directory) {
			continue // somebody else's
		}
		if _, err := o.drop(&unit{file: f}, func(f *File) *State { return f.New }, false); err != nil {
			return at(string(f.Path), fmt.Errorf("remove what was prepared: %w", err))
		}
	}
	return nil
}
