package changes

import (
	"cmp"
	"errors"
	"slices"
)

// task is a change that is to be made.
type task struct {
	file *File
	now  *State // what the directory has; nil for nothing
}

// parts are what an Apply changes: each unit by a rename, each place as it stands.
type parts struct {
	units  []*unit
	places []*place
}

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

// divide puts tasks into units and places. The units are in the order of their turns.
func divide(tasks []task, turn func(*File) int) (*parts, error) {
	p := new(parts)
	for i, end := 0, 0; i < len(tasks); i = end {
		t := &tasks[i]
		end = i + 1
		if kindIs(t.now, Directory) && kindIs(t.file.New, Directory) {
			p.places = append(p.places, &place{file: t.file, id: inodeOf(t.now.stat), mode: t.now.stat.Mode & 0o7777,
				attrs: t.now.XAttrs})
			continue
		}
		for ; end < len(tasks) && under(string(tasks[end].file.Path), string(t.file.Path)); end++ {
			if kindIs(t.file.New, Directory) != (tasks[end].file.New != nil) {
				return nil, at(string(tasks[end].file.Path), errors.New("the set has it in what is no directory"))
			}
		}
		u := &unit{file: t.file, tasks: tasks[i:end]}
		if t.now != nil {
			u.old = inodeOf(t.now.stat)
		}
		p.units = append(p.units, u)
	}
	slices.SortStableFunc(p.units, func(x, y *unit) int { return cmp.Compare(turn(x.file), turn(y.file)) })
	return p, nil
}

// lend lets the caller into the directories that stay, of which the Apply may have set the modes.
func (s *site) lend(places []*place) error {
	for _, p := range places {
		dir, name, err := s.enter(p.file.Path)
		if err == nil {
			s.dirs[string(p.file.Path)] = p.id
			err = s.unlocked(dir, name, string(p.file.Path))
		}
		if err != nil && !missing(err) && err != errMoved {
			return at(string(p.file.Path), err)
		}
	}
	return nil
}
