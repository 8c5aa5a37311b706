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
	maxListBytes = 8 << 20 // of all their paths and the texts of links
	maxDepth     = 100     // of the directories that List enters, below the one that it was given
)

// budget is what remains of the entries and the time of one call.
type budget struct {
	t      *Tree
	do     string // the call, for a message
	visits int
	until  time.Time
}

func (t *Tree) newBudget(do string) *budget { return &budget{t, do, t.visits, time.Now().Add(t.time)} }

// spend counts one entry.
func (b *budget) spend(p place) error {
	b.visits--
	if b.visits < 0 || b.visits%256 == 0 && time.Now().After(b.until) {
		return refuse(CodeTooMuch, "To %s %s takes more than %d entries or %v", b.do, show(p.String()), b.t.visits, b.t.time)
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
	p, err := t.begin(path, parse)
	if err != nil {
		return nil, false, err
	}
	if max <= 0 || max > MaxList {
		max = MaxList
	}
	if recursive && after != "" {
		return nil, false, refuse(CodeBadOption, "A list of all that is below a directory has no second page")
	}
	l := &lister{budget: t.newBudget("list"), max: max, maxBytes: maxListBytes, after: after}
	if at, err := l.walk(p, recursive); err != nil {
		return nil, false, explain("list", at, err)
	}
	return l.list, l.more, nil
}

// walk lists a directory, and those below it. at is where an error has occurred.
func (l *lister) walk(p place, recursive bool) (at place, err error) {
	if err := l.dir(p); err != nil {
		return p, err
	}
	for depth := 0; recursive && len(l.dirs) > 0 && !l.full; depth++ {
		level := l.dirs
		l.dirs = nil
		if depth == maxDepth {
			l.more = true
			break
		}
		for _, d := range level {
			if err := l.dir(d); err != nil && !l.lost(err) {
				return d, err
			}
		}
	}
	slices.SortFunc(l.list, func(a, b Entry) int { return strings.Compare(a.path, b.path) })
	return p, nil
}

type lister struct {
	*budget
	max, maxBytes int
	strict        bool // a directory without access is an error
	after         string
	bytes         int
	list          []Entry
	dirs          []place // still to be listed
	more          bool
	full          bool
}

// lost reports whether err means that a subdirectory is inaccessible or no longer exists.
func (l *lister) lost(err error) bool {
	switch {
	case vanished(err):
		return true
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EAGAIN):
		l.more = true
		return !l.strict
	}
	return false
}

// dir lists one directory. It opens it from the root, so that no descriptors of directories are kept. It reads all
// names and keeps the first ones in order, which it then looks up.
func (l *lister) dir(p place) error {
	if l.full {
		return nil
	}
	fd, err := l.t.open(p, readDir)
	if err != nil {
		return err
	}
	d := os.NewFile(uintptr(fd), p.String())
	defer d.Close()
	var first []string
	for err != io.EOF {
		var names []string
		if names, err = d.Readdirnames(256); err != nil && err != io.EOF {
			return err
		}
		for _, name := range names {
			if len(p.names) == 0 && !slices.Contains(areas, name) {
				continue // a temporary file of Put, which the jail does not see
			}
			if err := l.spend(p); err != nil {
				return err
			}
			if p.child(name).String() > l.after {
				first = append(first, name)
			}
		}
		if len(first) > 2*l.max {
			first = l.cut(first)
		}
	}
	for _, name := range l.cut(first) {
		if err := l.spend(p); err != nil {
			return err
		}
		if err := l.add(fd, p.child(name), name); err != nil {
			return err
		}
	}
	return nil
}

// cut returns the first l.max names in order.
func (l *lister) cut(names []string) []string {
	slices.Sort(names)
	if len(names) <= l.max {
		return names
	}
	l.more = true
	return names[:l.max]
}

func (l *lister) add(dir int, p place, name string) error {
	path := p.String()
	if len(path) >= pathMax {
		l.more = true
		return nil
	}
	if len(l.list) == l.max || l.bytes+len(path) > l.maxBytes {
		l.more, l.full = true, true
		return nil
	}
	fd, err := openat2(dir, name, look)
	switch err {
	case nil:
	case unix.ENOENT:
		return nil // removed in the meantime
	case unix.EACCES: // a directory with read but without search permission
		if l.lost(err) {
			return nil
		}
		return err
	default:
		return err
	}
	defer unix.Close(fd)
	e, err := entryOf(fd, path)
	if err != nil {
		return err
	}
	l.list, l.bytes = append(l.list, *e), l.bytes+len(path)+len(e.target)
	if e.Type == "dir" {
		l.dirs = append(l.dirs, p)
	}
	return nil
}
