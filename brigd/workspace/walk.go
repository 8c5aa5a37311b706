package workspace

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"brig/brigd/job"
	"brig/brigd/workspace/glob"
	"brig/internal/sys"
)

// maxPending bounds the memory for directories, or names of one, that a walk has still to look at, in bytes.
const maxPending = 16 << 20

// walker calls found for the files whose paths match a pattern. Like List it opens each directory from the root, keeps
// no descriptor of one, and follows no symbolic link.
type walker struct {
	*budget
	ctx     context.Context
	pattern *glob.Pattern
	found   func(dir int, p place, kind uint32) error // for a name in a directory that is open; kind is of st_mode
	more    bool                                      // something may be missing
	skipped int64                                     // files and directories whose mode forbids access
	pending int
	dirs    []folder // still to be read
	buf     []byte
}

// folder is a directory to read, and what its path has matched of the pattern.
type folder struct {
	place
	state glob.State
}

// hit is a name in a directory, and what it has matched.
type hit struct {
	name  string
	kind  uint32
	state glob.State
}

func (s *Search) newWalker(ctx context.Context, do string, pattern *glob.Pattern) *walker {
	b := s.tree.newBudget(do)
	if end := time.Now().Add(searchTime); end.Before(b.until) {
		b.until = end
	}
	return &walker{budget: b, ctx: ctx, pattern: pattern, buf: make([]byte, sys.EntriesSize)}
}

// walk reads a directory, and those below it, the near ones first. at is where an error has occurred.
func (w *walker) walk(p place) (at place, err error) {
	w.dirs = []folder{{p, w.pattern.Start()}}
	for depth := 0; len(w.dirs) > 0; depth++ {
		level := w.dirs
		if w.dirs, w.pending = nil, 0; depth > maxDepth {
			w.more = true
			break
		}
		for _, d := range level {
			err := w.dir(d)
			if err != nil && (depth == 0 || !vanished(err) && !w.shut(err)) {
				return d.place, enough(err)
			}
		}
	}
	return p, nil
}

// vanished reports whether err means that a payload has removed or replaced a file since it was seen.
func vanished(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// shut reports whether err means that a file is not accessible, and notes that something is missing.
func (w *walker) shut(err error) bool {
	no := errors.Is(err, unix.EACCES) || errors.Is(err, unix.EAGAIN)
	if no {
		w.more, w.skipped = true, w.skipped+1
	}
	return no
}

// step counts one entry.
func (w *walker) step(p place) error {
	if err := w.ctx.Err(); err != nil {
		return context.Cause(w.ctx)
	}
	err := w.spend(p)
	if no, ok := errors.AsType[*job.Refusal](err); ok && no.Code == CodeTooMuch {
		w.more = true
		return errEnough
	}
	return err
}

// dir reads one directory.
func (w *walker) dir(d folder) error {
	fd, err := w.t.open(d.place, readDir)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	hits, err := w.hits(fd, d)
	if err != nil {
		return err
	}
	for _, h := range hits {
		p := d.child(h.name)
		if len(p.String()) >= pathMax {
			w.more = true // no path can name it
			continue
		}
		if w.pattern.Matches(h.state) {
			if err := w.found(fd, p, h.kind); err != nil {
				return err
			}
		}
		if h.kind == unix.S_IFDIR && w.pattern.Enters(h.state) && w.room(len(p.String())+16*len(p.names)) {
			w.dirs = append(w.dirs, folder{p, h.state})
		}
	}
	return nil
}

// hits returns the names in a directory that match, or below which something may, in order.
func (w *walker) hits(fd int, d folder) (hits []hit, err error) {
	was := w.pending
	for e, err := range sys.Entries(fd, w.buf) {
		if err == nil {
			err = w.step(d.place)
		}
		if err != nil {
			return nil, err
		}
		h := hit{name: e.Name(), kind: e.Kind}
		if len(d.names) == 0 && !slices.Contains(areas, h.name) {
			continue // a temporary file of Put, which the jail does not see
		}
		h.state = w.pattern.Step(d.state, h.name)
		if w.pattern.Matches(h.state) || h.kind == unix.S_IFDIR && w.pattern.Enters(h.state) {
			if !w.room(len(h.name) + 64) {
				break
			}
			hits = append(hits, h)
		}
	}
	w.pending = was
	slices.SortFunc(hits, func(a, b hit) int { return strings.Compare(a.name, b.name) })
	return hits, nil
}

// room counts bytes that are kept, and reports whether there is memory for them.
func (w *walker) room(n int) bool {
	if w.pending+n > maxPending {
		w.more = true
		return false
	}
	w.pending += n
	return true
}
