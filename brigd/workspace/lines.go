package workspace

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"brig/brigd/job"
	"brig/brigd/workspace/grep"
)

const (
	// MaxGrep is the number of bytes that one Grep reads.
	MaxGrep = 256 << 20
	// maxGrepText is the number of bytes of the lines that one Grep returns.
	maxGrepText = 4 << 20
)

// Grep is a search for lines.
type Grep struct {
	Pattern    string // an expression as of package regexp (RE2)
	IgnoreCase bool
	Path       string // a directory or a file; /work if empty
	Glob       string // of the files to search, relative to Path; one without a slash is for their last names
	Max        int    // the number of lines to return, 1 to MaxList; 0 means MaxList
}

// Found is what a Grep has found.
type Found struct {
	// Lines are those that match, at most as many as were asked for, from directories near the given one first.
	Lines []Line `json:"lines"`
	// Files is how many files were searched.
	Files int64 `json:"files"`
	// Binary is how many of them were not searched further, since they have a NUL byte.
	Binary int64 `json:"binary"`
	// Long is how many have a line of more than 64 KiB, of which only the first 64 KiB were searched.
	Long int64 `json:"long_lines"`
	// Skipped is how many files, or directories of files, were not searched: their mode forbids it.
	Skipped int64 `json:"skipped"`
	// More is true if there may be further lines: beyond the bounds of lines, bytes and time, or in what was skipped.
	More bool `json:"more"`
}

// Line is a line of a file that matches.
type Line struct {
	// Path is where the jail sees the file: see Entry.
	Path    string `json:"path"`
	RawPath []byte `json:"path_base64,omitempty"`
	// Line is its number, from 1.
	Line int `json:"line"`
	// Column is the byte where the first match in it begins, from 1.
	Column int `json:"column"`
	// Text is the line as valid UTF-8, or 500 bytes of a longer one around the match.
	Text string `json:"text"`
	// Cut is true if Text is not the whole line.
	Cut bool `json:"cut,omitempty"`
}

// Grep returns the lines of regular files that match a pattern. It follows no symbolic link and opens no other file.
func (s *Search) Grep(ctx context.Context, g *Grep) (*Found, error) {
	re, err := grep.Compile(g.Pattern, g.IgnoreCase)
	if err != nil {
		return nil, refuse(CodeBadPattern, "The pattern %s cannot be used: %s", show(g.Pattern), err)
	}
	files := g.Glob
	switch {
	case files == "":
		files = "**"
	case strings.HasPrefix(files, "/"):
		return nil, refuse(CodeBadPattern, "The pattern of files, %s, has to be relative to the directory", show(files))
	case !strings.Contains(files, "/"):
		files = "**/" + files
	}
	chosen, err := compile(files)
	if err != nil {
		return nil, err
	}
	p, end, err := s.begin(ctx, g.Path)
	if err != nil {
		return nil, err
	}
	defer end()
	w := s.newWalker(ctx, "search", chosen)
	r := &grepper{walker: w, max: g.Max, left: MaxGrep, text: maxGrepText, Found: Found{Lines: []Line{}}}
	r.in = grep.Searcher{Pattern: re, Go: r.goes}
	if r.max <= 0 || r.max > MaxList {
		r.max = MaxList
	}
	if at, err := r.search(p); err != nil {
		return nil, explain("search", at, err)
	}
	r.More, r.Skipped = w.more, w.skipped
	return &r.Found, nil
}

// grepper is a Grep in progress.
type grepper struct {
	*walker
	Found
	in   grep.Searcher
	max  int
	left int64 // bytes that may still be read
	text int   // bytes of lines that may still be returned
}

// goes reports whether the search may go on. It notes that something is missing if not.
func (r *grepper) goes() bool {
	yes := r.ctx.Err() == nil && time.Now().Before(r.until) && !r.t.isClosed()
	r.more = r.more || !yes
	return yes
}

// search searches a file, or all below a directory. at is where an error has occurred.
func (r *grepper) search(p place) (at place, err error) {
	fd, err := r.t.open(p, p.look())
	if err != nil {
		return p, err
	}
	e, err := entryOf(fd, p.String())
	unix.Close(fd)
	if err != nil {
		return p, err
	}
	if e.Type != "dir" {
		return p, enough(r.file(p))
	}
	r.found = func(_ int, p place, kind uint32) error {
		if kind != unix.S_IFREG {
			return nil
		}
		err := r.file(p)
		if no, ok := errors.AsType[*job.Refusal](err); ok && no.Code == CodeNotRegular || err != nil && vanished(err) {
			return nil // a payload has replaced it
		}
		if err != nil && r.shut(err) {
			return nil
		}
		return err
	}
	return r.walk(p)
}

// file searches one file.
func (r *grepper) file(p place) error {
	fd, err := r.t.openRegular(p)
	if err != nil {
		return err
	}
	f, err := r.t.hold(fd, p.String())
	if err != nil {
		return err
	}
	defer f.Close()
	full := false
	st, err := r.in.Search(io.LimitReader(f, r.left), func(m grep.Match) bool {
		if full = len(r.Lines) == r.max || len(m.Text) > r.text; full {
			return false
		}
		l := Line{Path: printable(p.String()), Line: m.Line, Column: m.Column, Text: printable(m.Text), Cut: m.Cut}
		if !utf8.ValidString(p.String()) {
			l.RawPath = []byte(p.String())
		}
		r.Lines, r.text = append(r.Lines, l), r.text-len(l.Text)-len(l.Path)
		return true
	})
	if err != nil {
		return err
	}
	r.Files++
	if r.left -= st.Bytes; st.Binary {
		r.Binary++
	}
	if st.Long {
		r.Long++
	}
	switch {
	case r.ctx.Err() != nil:
		return context.Cause(r.ctx)
	case r.t.isClosed():
		return gone()
	case full, r.left <= 0, !r.goes():
		r.more = true
		return errEnough
	}
	return nil
}
