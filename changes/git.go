package changes

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"brig/internal/gitdata"

	"golang.org/x/sys/unix"
)

// gitSort knows which changes of a set are in git directories, and what becomes of them. git(1) of the host executes
// what it finds there and writes through links, so that only data comes to one: package gitdata has the list. It holds
// for the git directories of the host, and for those that the host would have after the set.
type gitSort struct {
	set    *Set
	base   int // the directory, or -1 if it cannot be opened
	files  []*File
	byPath map[string]*File
	dirs   map[string]*gitDir // by directories of the set: the git directory that they are, or are in, or nil
	layer  *contents
	free   func(path string, d *gitDir) bool // whether the caller has named a path
	sorted map[*File]*inGit
	err    error // of the layer
}

// gitDir is a git directory.
type gitDir struct {
	path   string // below the directory of the set; "" if that is one, or in one
	above  string // its path on the host, if the directory of the set is in it
	prefix string // the path of the directory of the set in it
}

// rel returns the path of a file in the git directory.
func (d *gitDir) rel(name string) string {
	return join(d.prefix, strings.TrimPrefix(strings.TrimPrefix(name, d.path), "/"))
}

// inGit is what becomes of a change in a git directory.
type inGit struct {
	dir  *gitDir
	kind gitdata.Kind
	file *File  // as it comes to the host; nil if it stays behind
	name string // what stays behind, in the git directory; "" for what nobody misses
}

// data reports whether a change is git's own bookkeeping, such as an object, which a review may pass over.
func (g *inGit) data() bool {
	return g != nil && (g.kind.IsData() && g.kind != gitdata.Named && g.file != nil || g.file == nil && g.name == "")
}

// stays reports whether somebody may miss the change.
func (g *inGit) stays() bool { return g != nil && g.file == nil && g.name != "" }

// sortGit sorts the changes of a set. base is the set's directory, or -1. The caller closes what text has opened.
func (s *Set) sortGit(files []*File, base int, free func(string, *gitDir) bool, layer *contents) (*gitSort, error) {
	g := &gitSort{set: s, base: base, files: files, free: free, layer: layer, byPath: make(map[string]*File, len(files)),
		dirs: map[string]*gitDir{}, sorted: map[*File]*inGit{}}
	if slices.Contains(s.Run.Git, itself) {
		return g, nil
	}
	for _, f := range files {
		g.byPath[string(f.Path)] = f
	}
	for _, f := range files {
		if d, root := g.dirOf(f); d != nil {
			in := &inGit{dir: d}
			if root {
				g.root(f, in)
			} else {
				g.part(f, in)
			}
			g.sorted[f] = in
		}
	}
	if len(g.sorted) > 0 {
		g.holdTogether()
	}
	if g.layer != layer {
		g.layer.layer.Close()
	}
	return g, g.err
}

// dirOf returns the git directory that a change is in, or is.
func (g *gitSort) dirOf(f *File) (d *gitDir, root bool) {
	if f.Path == itself {
		d = g.in("")
		return d, d != nil
	}
	up, name := split(string(f.Path))
	if d = g.in(up); d != nil {
		return d, false
	}
	if strings.EqualFold(name, ".git") {
		return &gitDir{path: string(f.Path)}, true
	}
	if d = g.dirs[string(f.Path)]; d == nil && f.IsDirectory() {
		d = g.in(string(f.Path))
	}
	return d, d != nil
}

// in returns the outermost git directory that a directory of the set is or is in, or nil. A work tree of the host in a
// git directory is no part of that.
func (g *gitSort) in(dir string) *gitDir {
	d, known := g.dirs[dir]
	if known {
		return d
	}
	if dir == "" {
		d = g.above()
	} else {
		up, _ := split(dir)
		if d = g.in(up); d != nil && g.has(dir+"/.git") {
			d = nil
		}
	}
	if d == nil && g.isGitDir(dir) {
		d = &gitDir{path: dir}
	}
	g.dirs[dir] = d
	return d
}

// isGitDir reports whether git would take a directory for a git directory when the set is applied. It takes .git first.
func (g *gitSort) isGitDir(dir string) bool {
	_, name := split(dir)
	if strings.EqualFold(name, ".git") {
		return true
	}
	return isBare(func(name string) bool {
		f := g.byPath[join(dir, name)]
		return f != nil && f.New != nil || g.has(join(dir, name))
	}) && !g.has(join(dir, ".git/HEAD"))
}

// isBare reports whether git takes a directory for a git directory, whatever its name, if it has these files.
func isBare(has func(string) bool) bool {
	return has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

// completes reports whether a new file would make a directory of the host a git directory, with hooks or settings that
// are there already: an earlier set may have brought them, as those of no git directory.
func (g *gitSort) completes(f *File, d *gitDir) bool {
	host := func(name string) bool { return g.has(join(d.path, name)) }
	return f.Old == nil && d.above == "" && slices.Contains(lead, d.rel(string(f.Path))) && !isBare(host) &&
		slices.ContainsFunc([]string{"config", "config.worktree", "hooks", "info", "commondir"}, host)
}

// lead are the files by which git knows a git directory.
var lead = []string{"HEAD", "objects", "refs", "commondir"}

// above returns the git directory that the directory of the set is or is in.
func (g *gitSort) above() (d *gitDir) {
	real := string(g.set.Dir.Path)
	if g.base >= 0 {
		if name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(g.base)); err == nil {
			real = name
		}
	}
	there := func(names ...string) bool {
		var st unix.Stat_t
		return !slices.ContainsFunc(names, func(n string) bool { return unix.Lstat(n, &st) != nil })
	}
	for at := real; at != "/" && path.IsAbs(at); at = path.Dir(at) {
		if strings.EqualFold(path.Base(at), ".git") ||
			there(at+"/HEAD", at+"/objects", at+"/refs") || there(at+"/HEAD", at+"/commondir") {
			d = &gitDir{above: at, prefix: strings.TrimPrefix(strings.TrimPrefix(real, at), "/")}
		}
		if there(at + "/.git") {
			break
		}
	}
	return d
}

// has reports whether the host has a file at a path below the directory of the set.
func (g *gitSort) has(name string) bool {
	if g.base < 0 {
		return false
	}
	fd, err := open(g.base, name, look)
	if err == nil {
		unix.Close(fd)
	}
	return err == nil || err == unix.EXDEV
}

// known reports whether the host has a git directory at a path in another.
func (g *gitSort) known(d *gitDir, dir string) bool {
	if d.above == "" {
		return g.has(join(join(d.path, dir), "HEAD"))
	}
	var st unix.Stat_t
	return unix.Lstat(join(join(d.above, dir), "HEAD"), &st) == nil
}

// mode returns the permissions of the nearest directory of the host above a path.
func (g *gitSort) mode(name string) uint32 {
	var st unix.Stat_t
	for up, _ := split(name); g.base >= 0; up, _ = split(up) {
		fd, err := open(g.base, up, holdDir)
		if err == nil {
			err = unix.Fstat(fd, &st)
			unix.Close(fd)
		}
		if err == nil {
			return st.Mode & permissions
		}
		if up == "" {
			break
		}
	}
	return 0o755
}

// index returns why an index must not come to the host, or "".
func (g *gitSort) index(f *File, d *gitDir) string {
	in, err := g.layer.reader(f)
	if err != nil {
		g.err = err
		return "it cannot be read"
	}
	dir := path.Dir(join(d.above, d.rel(string(f.Path))))
	if d.above == "" {
		dir = path.Dir(string(f.Path))
	}
	hash := gitdata.ObjectHash(func(name string) string { return g.host(dir, name) })
	links := func() []string { return gitdata.Gitlinks(g.host(dir, path.Base(string(f.Path))), hash) }
	return gitdata.BadIndex(in, f.New.Size, hash, links)
}

// host returns the content of a file of the host: by an absolute path, or one from a directory, which is absolute or
// below that of the set.
func (g *gitSort) host(dir, name string) string {
	if !path.IsAbs(name) {
		name = dir + "/" + name
	}
	if !path.IsAbs(name) && g.base >= 0 {
		name = fmt.Sprintf("/proc/self/fd/%d/%s", g.base, name)
	}
	var st unix.Stat_t
	if !path.IsAbs(name) || unix.Stat(name, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG ||
		st.Size > gitdata.MaxIndex {
		return ""
	}
	b, _ := os.ReadFile(name) // without it, the hash of an ordinary repository is meant
	return string(b)
}

// text returns why the content of a file must not come to the host, or "".
func (g *gitSort) text(f *File, d *gitDir, text gitdata.Text) string {
	if text == gitdata.Any {
		return ""
	}
	if text != gitdata.Names && f.New.Size > gitdata.MaxText {
		return "it is too long"
	}
	if g.layer == nil {
		if g.layer, g.err = g.set.open(); g.err != nil {
			return "it cannot be read"
		}
	}
	if text == gitdata.Names {
		return g.index(f, d)
	}
	b, err := g.layer.text(f)
	if err != nil {
		g.err = err
	}
	return text.Bad(string(b))
}
