package workspace

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"brig/brigd/workspace/glob"
)

// searchTime is how long one search may take.
const searchTime = 10 * time.Second

// Search finds files of a Tree by their names, and lines in them. It works for one call at a time, and others wait, so
// that one sandbox takes one processor.
type Search struct {
	tree *Tree
	busy chan struct{} // has an element while a call searches
}

func newSearch(t *Tree) *Search { return &Search{t, make(chan struct{}, 1)} }

// begin parses a path, by default /work, and waits for the search before. The caller must call end.
func (s *Search) begin(ctx context.Context, path string) (p place, end func(), err error) {
	if p, err = s.tree.begin(cmp.Or(path, "/work"), parse); err != nil {
		return p, nil, err
	}
	select {
	case s.busy <- struct{}{}:
		return p, func() { <-s.busy }, nil
	case <-ctx.Done():
		return p, nil, context.Cause(ctx)
	}
}

// Glob returns the files of all types below a directory whose paths, relative to it, match a pattern: see package glob.
// An absolute pattern is one below "/", and path is empty then. Glob follows no symbolic link. At most max files are
// returned (1 to MaxList; 0 means MaxList), sorted by path, from directories near the given one first. more reports
// whether files may be missing: beyond max, because the search took too long, or as for List.
func (s *Search) Glob(ctx context.Context, pattern, path string, max int) (list []Entry, more bool, err error) {
	if strings.HasPrefix(pattern, "/") {
		if path != "" {
			return nil, false, refuse(CodeBadPattern, "The pattern %s is absolute, and so has no directory", show(pattern))
		}
		path = "/"
	}
	g, err := compile(pattern)
	if err != nil {
		return nil, false, err
	}
	p, end, err := s.begin(ctx, path)
	if err != nil {
		return nil, false, err
	}
	defer end()
	if max <= 0 || max > MaxList {
		max = MaxList
	}
	w := s.newWalker(ctx, "search", g)
	bytes := 0
	w.found = func(dir int, p place, _ uint32) error {
		_, name := p.split()
		e, err := lookAt(dir, name, p.String())
		switch {
		case err != nil && (vanished(err) || w.shut(err)):
			return nil
		case err != nil:
			return err
		case len(list) == max || bytes+len(e.path) > maxListBytes:
			w.more = true
			return errEnough
		}
		list, bytes = append(list, *e), bytes+len(e.path)+len(e.target)
		return nil
	}
	if at, err := w.walk(p); err != nil {
		return nil, false, explain("search", at, err)
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.path, b.path) })
	return list, w.more, nil
}

func lookAt(dir int, name, path string) (*Entry, error) {
	fd, err := openat2(dir, name, look)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return entryOf(fd, path)
}

func compile(pattern string) (*glob.Pattern, error) {
	g, err := glob.Compile(pattern)
	if err != nil {
		return nil, refuse(CodeBadPattern, "The pattern %s cannot be used: %s", show(pattern), err)
	}
	return g, nil
}

// errEnough ends a walk that has found enough, or taken too long.
var errEnough = errors.New("enough was found")

// enough converts errEnough to no error.
func enough(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
