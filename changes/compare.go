package changes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"brig/internal/owned"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

const (
	maxDepth  = 256     // directories in each other, each of which takes two descriptors while it is compared
	maxHoles  = 1 << 30 // bytes of all holes in sparse files
	maxLinked = 4 << 30 // bytes of second and further names: each is a file when applied
)

// comparer compares the upper directory of an overlay with its base.
type comparer struct {
	base, upper reader
	ctx         context.Context
	files       []*File
	leftOut     []Refused
	left        int // files that are left out, of which leftOut has the first
	room        *room
	at          string // the path that is compared, for errors
	// kept has the paths of the upper directory that belong to the set, and of the directories on the way to them.
	kept    map[string]bool
	started int64 // nanoseconds since 1970
	holes   int64 // bytes of sparse files
	linked  int64 // bytes of further names, with their attributes
	// links has the files of the upper directory with several names, by st_ino. They are read once.
	links map[uint64]*link
	depth int
}

// leave records a file that the set does not hold, which is not an error: it returns nil.
func (c *comparer) leave(path, reason string) error {
	c.left++
	if len(c.leftOut) < maxLeftOut {
		c.leftOut = append(c.leftOut, Refused{Name(path), words.Plain(reason)})
	}
	return nil
}

// leaveOut leaves out a file with too many attributes, or what is mounted in the base. Other errors are returned.
func (c *comparer) leaveOut(err error, path string) error {
	switch {
	case errors.Is(err, errAttributes):
		return c.leave(path, errAttributes.Error())
	case err == unix.EXDEV:
		return c.leave(path, "the host has something mounted there")
	}
	return err
}

// add records a change, unless the set has no room for it. If a file of the base was written to after the run had
// begun, the payload may have seen either.
func (c *comparer) add(path string, old, now *State, first *File, whiteout bool) (f *File) {
	f = &File{Path: Name(path), Old: old, New: now, first: first, index: len(c.files)}
	if reason := c.room.take(f, whiteout); reason != "" {
		_ = c.leave(path, reason)
		return nil
	}
	f.Raced = old != nil && (old.Kind != Directory || path == itself) && old.stat.Ctim.Nano() > c.started
	if old != nil {
		old.stat = nil // nobody needs it any more
	}
	c.files = append(c.files, f)
	return f
}

// keep records that the layer needs a name of the upper directory.
func (c *comparer) keep(path string) {
	for at := path; at != "" && !c.kept[at]; at, _ = split(at) {
		if c.kept[at] = true; at != path {
			c.room.bytes -= entrySize(at) // take has counted path
		}
	}
}

// dir compares a directory. base is -1 if the base has no such directory, and upper is -1 if the payload has none. If
// the directory is opaque, it hides what the base has there.
func (c *comparer) dir(upper, base int, path string, opaque bool) error {
	defer func() { c.depth-- }()
	if c.depth++; c.depth > maxDepth {
		return c.leave(path, "what is in it is too deep")
	}
	var list, hidden []string
	var err error
	if upper >= 0 {
		list, err = names(upper)
	}
	if err == nil && opaque && base >= 0 {
		hidden, err = names(base)
	}
	if err != nil {
		return err
	}
	merged := list
	if len(hidden) > 0 {
		merged = slices.Concat(list, hidden)
		slices.Sort(merged)
		merged = slices.Compact(merged)
	}
	for _, name := range merged {
		full := join(path, name)
		c.at = full
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if _, ok := slices.BinarySearch(list, name); !ok {
			err = c.remove(base, name, full, false)
		} else {
			err = c.entry(upper, base, name, full, opaque)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entry compares a name of the upper directory.
func (c *comparer) entry(upper, base int, name, path string, opaque bool) error {
	st, err := stat(upper, name)
	switch {
	case err != nil:
		return err
	case st == nil:
		return errChanged
	case st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0: // a whiteout
		n := len(c.files)
		if err := c.remove(base, name, path, true); len(c.files) == n || err != nil {
			return err
		}
		c.keep(path)
		return nil
	case kindOf(st.Mode) == Other:
		return c.leave(path, "it is a device, FIFO or socket")
	case strings.HasPrefix(name, whiteout):
		return c.leave(path, "its name begins with "+whiteout+", which means something else in a layer")
	case len(path)+len(whiteout) >= pathMax-1:
		return c.leave(path, "its path is too long")
	case c.sparse(st):
		return c.leave(path, fmt.Sprintf("it is sparse: %d bytes, of which %d are there", st.Size, st.Blocks*512))
	}
	var old *State
	if base >= 0 {
		if old, err = c.baseState(base, name); err != nil {
			return c.leaveOut(err, path)
		}
	}
	now, several, err := c.upperState(upper, name, st)
	if err != nil {
		return c.leaveOut(err, path)
	}
	if now == nil {
		return c.leave(path, fmt.Sprintf("it is one of many names of a file of %d bytes", st.Size))
	}
	changed, isDir := !old.equal(now), kindIs(old, Directory)
	if changed && !c.change(path, old, now, several) {
		return nil
	}
	if opaque && !changed {
		c.keep(path)
	}
	switch {
	case now.Kind == Directory:
		if !isDir {
			base = -1
		}
		return c.subdir(upper, base, name, path, opaque)
	case isDir:
		return c.below(base, name, path)
	}
	return nil
}

// baseState returns the state of a file of the base. If the host keeps writing to it, the state has no digest, as for a
// file that cannot be read: the change is then Raced, and the set holds the others.
func (c *comparer) baseState(base int, name string) (s *State, err error) {
	for range 3 {
		s, err = c.base.state(base, name)
		if s == nil || err == nil || errors.Is(err, errAttributes) || c.ctx.Err() != nil {
			return s, err
		}
	}
	if err == unix.EXDEV {
		return nil, err
	}
	s.SHA256 = ""
	if s.Kind == Symlink {
		s.Kind, s.Target = Other, ""
	}
	return s, nil
}

// change records a change, whose content is in the layer unless that has it under another name. It reports whether the
// set has room for it.
func (c *comparer) change(path string, old, now *State, several *link) bool {
	if several != nil && several.first != nil {
		return c.add(path, old, now, several.first, false) != nil
	}
	f := c.add(path, old, now, nil, false)
	if f == nil {
		return false
	}
	if several != nil {
		several.first = f
	}
	c.keep(path)
	return true
}

// subdir compares what is in a directory of the upper directory. base is -1 if the base has no such directory.
func (c *comparer) subdir(upper, base int, name, path string, opaque bool) (err error) {
	fd, restore, err := owned.Open(upper, name, unix.O_DIRECTORY, 0o700)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore(), unix.Close(fd)) }()
	_, overlay, err := attributes(fd)
	if err != nil {
		return err
	}
	if slices.Contains(overlay, "opaque") {
		opaque = true
		if base >= 0 {
			c.keep(path)
		}
	}
	return c.inBase(base, name, func(base int) error { return c.dir(fd, base, path, opaque) })
}

// inBase opens a directory of the base and calls do with it, or with -1 if the host has removed or moved it.
func (c *comparer) inBase(base int, name string, do func(int) error) error {
	if base >= 0 {
		fd, err := open(base, name, holdDir)
		if err == nil {
			defer unix.Close(fd)
		} else if fd = -1; !missing(err) && err != unix.EXDEV {
			return err
		}
		base = fd
	}
	return do(base)
}

// remove records that the payload has deleted a name, and all that is below it.
func (c *comparer) remove(base int, name, path string, whiteout bool) error {
	if base < 0 {
		return nil
	}
	if len(path) >= pathMax {
		return c.leave(path, "its path is too long")
	}
	old, err := c.baseState(base, name)
	if old == nil || err != nil {
		return c.leaveOut(err, path)
	}
	if c.add(path, old, nil, nil, whiteout) != nil && old.Kind == Directory {
		return c.below(base, name, path)
	}
	return nil
}

// below records that the payload has deleted all that the base has in a directory.
func (c *comparer) below(base int, name, path string) error {
	return c.inBase(base, name, func(base int) error { return c.dir(-1, base, path, true) })
}

// sparse reports whether a file has too many holes to be kept. The payload makes them for free, and in the set they
// would fill the disk.
func (c *comparer) sparse(st *unix.Stat_t) bool {
	if holes := st.Size - st.Blocks*512; kindOf(st.Mode) == Regular && holes > 0 {
		if holes > maxHoles-c.holes {
			return true
		}
		c.holes += holes
	}
	return false
}
