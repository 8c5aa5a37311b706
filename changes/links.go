package changes

import "golang.org/x/sys/unix"

// link is a file with several names.
type link struct {
	state *State
	first *File // the first change that has this file; nil if none has it yet
}

// upperState returns the state of a file of the upper directory, or nil if its further names exceed maxLinked.
func (c *comparer) upperState(upper int, name string, st *unix.Stat_t) (s *State, several *link, err error) {
	if kindOf(st.Mode) == Regular && st.Nlink > 1 {
		if several = c.links[st.Ino]; several != nil {
			if c.linked += st.Size + several.state.attributes(); c.linked > maxLinked {
				return nil, nil, nil
			}
			return several.state, several, nil
		}
	}
	s, err = c.upper.state(upper, name)
	if s == nil && err == nil {
		err = errChanged
	}
	if err != nil {
		return nil, nil, err
	}
	if s.Kind == Regular && st.Nlink > 1 {
		several = &link{state: s}
		c.links[st.Ino] = several
	}
	s.stat = nil
	return s, several, nil
}
