package changes

import (
	"bufio"
	"io"
	"slices"

	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// maxDiff bounds the files whose text Diff shows, in bytes.
const maxDiff = 4 << 20

// DiffOptions are for Set.Diff.
type DiffOptions struct {
	Paths []string // show what is at and below these; all if it is empty
	Color bool     // with the escape sequences of terminals
	// Escape shows what would steer a terminal, and bytes that are not UTF-8, as \xNN or \uNNNN. Without it the output
	// is what git-apply(1) and patch(1) read.
	Escape bool
	// Words has the reader's words for what a line of explanation refers to. Without it, lines have the neutral form.
	Words words.Dialect
	// Fold shows what git itself keeps in .git as one line of explanation, unless Paths name it.
	Fold bool
}

// Diff writes the changes as git-diff(1) does, with a line of explanation before each change that git cannot express: a
// directory, extended attributes, a file that the host has changed since. The old texts are read from the base
// directory.
func (s *Set) Diff(w io.Writer, o *DiffOptions) error {
	layer, err := s.open()
	if err != nil {
		return err
	}
	defer layer.layer.Close()
	p := &printer{w: bufio.NewWriter(w), options: o, layer: layer}
	if p.base, err = s.Dir.open(false); err != nil {
		p.note("%v", words.Message(err))
	} else {
		defer unix.Close(p.base)
	}
	list, err := s.changes(o.Paths, p.base, layer)
	if err != nil {
		return err
	}
	var folded []Folded
	if o.Fold && len(o.Paths) == 0 {
		list, folded = Fold(list)
	}
	for _, f := range folded {
		p.note("%s: %s of git's own data; %s, or a path, shows them", GitQuote(f.Dir),
			words.Plural(f.Files+f.Dirs, "change"), words.Field("all"))
	}
	for _, c := range list {
		if p.applied(c) {
			p.note("%s: applied", GitQuote(string(c.Path)))
		} else if err = p.file(c); err == nil {
			_, err = p.w.Write(nil) // that of an earlier write: nobody takes the rest
		}
		if err != nil {
			return err
		}
	}
	return p.w.Flush()
}

// Changes returns the changes at and below paths, all without any. A file that was deleted and added elsewhere with the
// same content is one change.
func (s *Set) Changes(paths []string) ([]Change, error) {
	base, err := s.Dir.open(false)
	if err == nil {
		defer unix.Close(base)
	}
	return s.changes(paths, base, nil)
}

// changes is Changes, with what becomes of those in git directories: base is the directory of the set, or -1.
func (s *Set) changes(paths []string, base int, layer *contents) ([]Change, error) {
	files, err := s.Files()
	if err != nil {
		return nil, err
	}
	g, err := s.sortGit(files, base, s.free(&ApplyOptions{Paths: paths, Named: true}), layer)
	if err != nil {
		return nil, err
	}
	if files, err = choose(files, paths); err != nil {
		return nil, err
	}
	list := withRenames(files)
	for i := 0; i < len(list); i++ {
		c := &list[i]
		if c.git = g.sorted[c.File]; c.From == nil {
			continue
		}
		if from := g.sorted[c.From]; from != nil || c.git != nil { // which come or stay each on their own
			list = slices.Insert(list, i, Change{File: c.From, git: from})
			list[i+1].From = nil
			i++
		}
	}
	return list, nil
}

// printer writes the changes of a set.
type printer struct {
	w       *bufio.Writer
	options *DiffOptions
	layer   *contents
	base    int // the directory, or -1 if it cannot be opened
	read    reader
}

// applied reports whether the directory has a change already. An added directory may have another mode there.
func (p *printer) applied(c Change) bool {
	if p.base < 0 || c.From != nil && !p.has(c.From) {
		return false
	}
	return p.has(c.File)
}

// has reports whether a file is as the run has made it.
func (p *printer) has(f *File) bool {
	up, name := split(string(f.Path))
	dir, err := open(p.base, up, holdDir)
	if err != nil {
		return missing(err) && f.New == nil
	}
	defer unix.Close(dir)
	st, err := stat(dir, name)
	if err != nil || st == nil || f.New == nil {
		return err == nil && st == nil && f.New == nil
	}
	if kindOf(st.Mode) != f.New.Kind || f.New.Kind == Regular && st.Size != f.New.Size {
		return false
	}
	now, err := p.read.state(dir, name)
	if err == nil && now != nil && f.Path == itself {
		now.XAttrs = nil
	}
	return err == nil && now.equal(f.New)
}

// The SGR sequences of git-diff(1) (console_codes(4)).
const (
	bold, cyan, green, red, plain = "\x1b[1m", "\x1b[36m", "\x1b[32m", "\x1b[31m", "\x1b[m"
)

func (p *printer) line(color string, lines ...string) {
	for _, text := range lines {
		if p.options.Escape {
			text = escaped(text)
		}
		if p.options.Color && color != "" {
			text = color + text + plain
		}
		_, _ = p.w.WriteString(text + "\n") // Flush returns the error
	}
}

// note writes a line that is no part of a patch.
func (p *printer) note(format string, args ...any) {
	p.line(cyan, words.Textf("# "+format, args...).In(p.options.Words))
}

// file writes one change.
func (p *printer) file(c Change) error {
	old := c.Old
	name := GitQuote(string(c.Path))
	if c.From != nil {
		old = c.From.Old
	}
	if c.Stays() {
		p.note("%s: brig apply leaves it out: only data comes to a git directory; a path brings a file", name)
	}
	if c.Raced {
		p.note("%s: the host changed it during the run", name)
	}
	p.notInGit(name, old, c.New)
	old, now := old.ifIs(Regular, Symlink), c.New.ifIs(Regular, Symlink)
	if old == nil && now == nil {
		return nil
	}
	if old != nil && now != nil && old.Kind != now.Kind { // git has two patches for it
		if err := p.patch(c, old, nil); err != nil {
			return err
		}
		old = nil
	}
	return p.patch(c, old, now)
}

// notInGit describes the change of a directory, and names the extended attributes that have changed.
func (p *printer) notInGit(name string, old, now *State) {
	was, is := kindIs(old, Directory), kindIs(now, Directory)
	switch {
	case was && is && old.Mode != now.Mode:
		p.note("directory %s: mode %04o, was %04o", name, now.Mode, old.Mode)
	case was && !is:
		p.note("directory %s: deleted", name)
	case kindIs(old, Other):
		p.note("device, FIFO or socket %s: deleted", name)
	}
	if is && !was {
		p.note("directory %s: added, mode %04o", name, now.Mode)
	}
	if now == nil {
		return
	}
	for _, a := range old.only(now) {
		p.note("%s: extended attribute -%s", name, GitQuote("user."+string(a.Name)))
	}
	for _, a := range now.only(old) {
		p.note("%s: extended attribute +%s", name, GitQuote("user."+string(a.Name)))
	}
}
