package gitview

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"brig/internal/gitdata"
	"brig/internal/owned"
	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// The bounds of what a payload has written to one view. Nothing of a view that exceeds one comes to the host.
const (
	maxFiles = 1 << 20
	maxDepth = 128
	maxHoles = 1 << 30 // bytes of all holes of sparse files
	maxSame  = 1 << 24 // bytes of a file that is compared with the host's
)

// change is a file that comes to the host, or is removed there.
type change struct {
	path string // below the directory that the view shows
	kind gitdata.Kind
	old  *unix.Stat_t // what the host has; nil for nothing
	mode uint32       // of the new file
}

// comparer compares the upper directory of a view with the directory of the host.
type comparer struct {
	report  *Report
	prefix  string // the path of the directory in its git directory, "" for all of it
	top     int    // the directory of the host
	started int64  // when the run began, in nanoseconds since 1970
	index   *os.File
	// takesBack reports whether the caller has taken the protection of a path in the git directory back.
	takesBack func(string) bool
	puts      []change
	removed   []change // a directory comes after what is in it
	known     map[string]bool
	seen      int
	depth     int
	holes     int64
}

// place returns what a path of the view is.
func (c *comparer) place(rel string) gitdata.Place {
	p := gitdata.Of(path.Join(c.prefix, rel), c.isGitDir)
	if p.Kind == gitdata.Other && c.takesBack(path.Join(c.prefix, rel)) {
		p.Kind = gitdata.Named
	}
	return p
}

// isGitDir reports whether the host has a git directory at a path: one of a worktree or a submodule.
func (c *comparer) isGitDir(dir string) bool {
	is, ok := c.known[dir]
	if !ok {
		rel, below := strings.CutPrefix(dir, c.prefix+"/")
		if c.prefix == "" {
			rel, below = dir, true
		}
		fd, err := -1, error(unix.ENOENT)
		if below {
			fd, err = sys.OpenBeneath(c.top, rel+"/HEAD", unix.O_PATH|unix.O_NOFOLLOW)
		}
		if is = err == nil; is {
			unix.Close(fd)
		}
		c.known[dir] = is
	}
	return is
}

// dir compares a directory of the upper directory. base is -1 if the host has none. If it is opaque, the payload has
// removed what the host has there.
func (c *comparer) dir(upper, base int, rel string, opaque bool) error {
	defer func() { c.depth-- }()
	if c.depth++; c.depth > maxDepth {
		return fmt.Errorf("%s is too deep", rel)
	}
	names, err := owned.Names(upper)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if c.seen++; c.seen > maxFiles {
			return fmt.Errorf("more than %d files have changed", maxFiles)
		}
		if err := c.entry(upper, base, name, path.Join(rel, name), opaque); err != nil {
			return err
		}
	}
	if !opaque || base < 0 {
		return nil
	}
	return c.each(base, func(name string) error {
		if _, ok := slices.BinarySearch(names, name); ok {
			return nil
		}
		return c.gone(base, name, path.Join(rel, name))
	})
}

// each calls do for each name in a directory of the host.
func (c *comparer) each(base int, do func(name string) error) error {
	names, err := owned.Names(base)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := do(name); err != nil {
			return err
		}
	}
	return nil
}

// entry compares a name of the upper directory.
func (c *comparer) entry(upper, base int, name, rel string, opaque bool) error {
	st, err := stat(upper, name)
	if st == nil || err != nil {
		return err
	}
	old, err := stat(base, name)
	if err != nil {
		return err
	}
	p := c.place(rel)
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFCHR && st.Rdev == 0: // a whiteout
		return c.gone(base, name, rel)
	case kind == unix.S_IFDIR:
		return c.subdir(upper, base, name, rel, old, opaque)
	case kind == unix.S_IFREG && p.Kind.IsData():
		return c.file(upper, base, name, rel, &p, old, st)
	case p.Kind == gitdata.Noise, kind == unix.S_IFREG && isRegular(old) && c.same(upper, base, name, old, st):
		return nil
	}
	c.report.stay(p.Name)
	return nil
}

// subdir compares what is in a directory of the upper directory.
func (c *comparer) subdir(upper, base int, name, rel string, old *unix.Stat_t, opaque bool) (err error) {
	fd, restore, err := owned.Open(upper, name, unix.O_DIRECTORY, 0o700)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore(), unix.Close(fd)) }()
	if value, err := sys.Xattr(fd, "user.overlay.opaque"); err == nil && value == "y" {
		opaque = true
	}
	if !isDir(old) {
		if old != nil {
			err = c.gone(base, name, rel)
		}
		return errors.Join(err, c.dir(fd, -1, rel, false))
	}
	return c.below(base, name, rel, func(base int) error { return c.dir(fd, base, rel, opaque) })
}

// below opens a directory of the host. What is mounted there stays as it is.
func (c *comparer) below(base int, name, rel string, do func(base int) error) error {
	fd, err := sys.OpenBeneath(base, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	switch err {
	case nil:
		defer unix.Close(fd)
		return do(fd)
	case unix.EXDEV, unix.ELOOP, unix.ENOTDIR, unix.ENOENT, unix.EACCES:
		c.report.stay(rel)
		return nil
	}
	return err
}

// file compares a regular file that may come to the host.
func (c *comparer) file(upper, base int, name, rel string, p *gitdata.Place, old, st *unix.Stat_t) error {
	switch {
	case isDir(old):
		if err := c.gone(base, name, rel); err != nil {
			return err
		}
	case old != nil && !isRegular(old): // git would write through a link of the host's; brig does not replace it
		c.report.stay(p.Name)
		return nil
	case old != nil && p.Kind == gitdata.Object:
		if old.Size != st.Size {
			c.report.stay(p.Name)
		}
		return nil
	case old != nil && c.same(upper, base, name, old, st):
		return nil
	}
	if holes := st.Size - st.Blocks*512; holes > 0 {
		if c.holes += holes; c.holes > maxHoles {
			c.report.stay(p.Name)
			return nil
		}
	}
	if p.Text == gitdata.Names {
		if why, err := c.badIndex(upper, name, rel); why != "" || err != nil {
			c.report.stay(p.Name)
			return err
		}
	} else if p.Text != gitdata.Any {
		text, err := read(upper, name, gitdata.MaxText+1)
		if err != nil {
			return err
		}
		if len(text) > gitdata.MaxText || p.Text.Bad(string(text)) != "" {
			c.report.stay(p.Name)
			return nil
		}
	}
	if c.raced(base, name, rel, old) {
		c.report.conflict(p.Name)
		return nil
	}
	c.puts = append(c.puts, change{rel, p.Kind, old, st.Mode & 0o777})
	return nil
}

// raced reports whether the host has changed a file since the run began. `git status` of the host writes the index
// again, with other times of the same files.
func (c *comparer) raced(base int, name, rel string, old *unix.Stat_t) bool {
	return old != nil && !isDir(old) && old.Ctim.Nano() > c.started && (rel != "index" || !c.refreshed(base, name, old))
}

// gone notes that the payload has removed what the host has at a name.
func (c *comparer) gone(base int, name, rel string) error {
	old, err := stat(base, name)
	if old == nil || err != nil {
		return err
	}
	p := c.place(rel)
	switch {
	case p.Kind == gitdata.Noise:
		return nil
	case !p.Kind.IsData(), !isDir(old) && (!isRegular(old) || p.Keep):
		c.report.stay(p.Name + " (removed)")
		return nil
	case c.raced(base, name, rel, old):
		c.report.conflict(p.Name)
		return nil
	case isDir(old):
		err := c.below(base, name, rel, func(fd int) error {
			return c.each(fd, func(name string) error { return c.gone(fd, name, path.Join(rel, name)) })
		})
		if err != nil || p.Keep {
			return err
		}
	}
	c.removed = append(c.removed, change{path: rel, kind: p.Kind, old: old})
	return nil
}

// same reports whether a file of the upper directory and one of the host have the same content. Large ones are compared
// by their size and time, which a copy of the host's file keeps.
func (c *comparer) same(upper, base int, name string, old, st *unix.Stat_t) bool {
	if old.Size != st.Size || st.Size > maxSame {
		return old.Size == st.Size && old.Mtim == st.Mtim
	}
	a, err := read(upper, name, maxSame)
	b, berr := read(base, name, maxSame)
	return err == nil && berr == nil && bytes.Equal(a, b)
}
