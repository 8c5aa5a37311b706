package workspace

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// MaxList is the largest number of entries that one List returns.
	MaxList      = 10000
	maxListBytes = 8 << 20 // of all their paths
	maxDepth     = 100     // of the directories that List enters, below the one that it was given
)

// budget is what one call may still do.
type budget struct {
	t      *Tree
	visits int
	until  time.Time
}

func (t *Tree) newBudget() *budget {
	return &budget{t: t, visits: t.visits, until: time.Now().Add(t.time)}
}

// spend counts one entry.
func (b *budget) spend(do string, p place) error {
	b.visits--
	if b.visits < 0 || b.visits%256 == 0 && time.Now().After(b.until) {
		return refuse(CodeTooMuch, "To %s %s takes more than %d entries or %v", do, show(p.String()), b.t.visits, b.t.time)
	}
	if b.visits%64 == 0 && b.t.isClosed() {
		return gone()
	}
	return nil
}

// List returns what is in a directory, and with recursive what is in those below it: directories nearer to it first
// count against max, and the list is sorted by path. It enters no symbolic link. more reports whether there are others:
// beyond max (1 to MaxList; 0 is MaxList), too deep, with a path too long to be named, or in a directory whose mode
// forbids to look. Of a single directory it is the first max entries behind the path after, in bytes as Entry has them,
// so that the last path of one list begins the next.
func (t *Tree) List(path string, recursive bool, after string, max int) (list []Entry, more bool, err error) {
	p, r := parse(path)
	if r != nil {
		return nil, false, r
	}
	if err := t.begin(); err != nil {
		return nil, false, err
	}
	if max <= 0 || max > MaxList {
		max = MaxList
	}
	if recursive && after != "" {
		return nil, false, refuse(CodeBadOption, "A list of all that is below a directory has no second page")
	}
	l := &lister{t: t, budget: t.newBudget(), max: max, recursive: recursive, after: after}
	if err := l.dir(p); err != nil {
		return nil, false, explain("list", p, err)
	}
	for depth := 0; len(l.dirs) > 0 && !l.full; depth++ {
		level := l.dirs
		l.dirs = nil
		if depth == maxDepth {
			l.more = true
			break
		}
		for _, d := range level {
			if err := l.dir(d); err != nil && !l.lost(err) {
				return nil, false, explain("list", d, err)
			}
		}
	}
	slices.SortFunc(l.list, func(a, b named) int { return strings.Compare(a.path, b.path) })
	for _, n := range l.list {
		list = append(list, n.entry)
	}
	return list, l.more, nil
}

type named struct {
	path  string // raw
	entry Entry
}

type lister struct {
	t         *Tree
	budget    *budget
	max       int
	recursive bool
	after     string
	bytes     int
	list      []named
	dirs      []place // to be entered
	more      bool
	full      bool
}

// lost reports whether a directory below the first one cannot be entered, or does not exist any more.
func (l *lister) lost(err error) bool {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return true // a payload has removed or replaced it since it was listed
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EAGAIN):
		l.more = true
		return true
	}
	return false
}

// dir lists one directory, which it opens from the root again: names are held, not descriptors.
func (l *lister) dir(p place) error {
	if l.full {
		return nil
	}
	fd, err := l.t.open(p, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	d := os.NewFile(uintptr(fd), p.String())
	defer d.Close()
	var first []string // of a directory alone: the first names, to be looked at when all are known
	for !l.full {
		names, err := d.Readdirnames(256)
		for _, name := range names {
			switch {
			case p.area == "" && !slices.Contains(areas, name):
				continue // staged, not in the jail
			case !l.recursive:
				if err := l.budget.spend("list", p); err != nil {
					return err
				}
				if p.child(name).String() > l.after {
					first = append(first, name)
				}
				continue
			}
			if err := l.add(fd, p.child(name), name); err != nil {
				return err
			}
		}
		if first = l.cut(first, 2*l.max); err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	slices.Sort(first)
	for _, name := range l.cut(first, l.max) {
		if err := l.add(fd, p.child(name), name); err != nil {
			return err
		}
	}
	return nil
}

// cut shortens a list of names to the first ones if it has more than a list may have.
func (l *lister) cut(names []string, most int) []string {
	if len(names) <= most {
		return names
	}
	slices.Sort(names)
	l.more = true
	return names[:l.max]
}

func (l *lister) add(dir int, p place, name string) error {
	if err := l.budget.spend("list", p); err != nil {
		return err
	}
	path := p.String()
	if len(path) >= pathMax {
		l.more = true
		return nil
	}
	if len(l.list) == l.max || l.bytes+len(path) > maxListBytes {
		l.more, l.full = true, true
		return nil
	}
	fd, err := openat2(dir, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	switch err {
	case nil:
	case unix.ENOENT:
		return nil // removed since
	case unix.EACCES: // a directory that may be read but not entered
		l.more = true
		return nil
	default:
		return err
	}
	defer unix.Close(fd)
	e, err := entryOf(fd, path)
	if err != nil {
		return err
	}
	l.list, l.bytes = append(l.list, named{path, *e}), l.bytes+len(path)
	if l.recursive && e.Type == "dir" {
		l.dirs = append(l.dirs, p)
	}
	return nil
}
