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

// budget is what remains of the entries and the time of one call.
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

// List returns the entries of a directory, sorted by path, and if recursive is set those of its subdirectories too. It
// does not follow symbolic links. At most max entries are returned (1 to MaxList; 0 means MaxList), from directories
// near the given one first. more reports whether entries are missing: beyond max, too deep, with a path that is too
// long, or in a directory whose mode forbids access. Without recursive, the list has the first max entries whose path
// is greater than after, compared as bytes of Entry's raw path. The last path of one list can thus be the after of the
// next call.
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
	path  string // unescaped
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
	dirs      []place // still to be listed
	more      bool
	full      bool
}

// lost reports whether err means that a subdirectory is inaccessible or no longer exists.
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

// dir lists one directory. It opens it from the root, so that no descriptors of directories are kept.
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
	var first []string // without recursive: the first names in order, which are looked up after all are read
	for !l.full {
		names, err := d.Readdirnames(256)
		for _, name := range names {
			switch {
			case p.area == "" && !slices.Contains(areas, name):
				continue // a temporary file of Put, which the jail does not see
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

// cut returns the first l.max names in order if there are more than most.
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
		return nil // removed in the meantime
	case unix.EACCES: // a directory with read but without search permission
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
