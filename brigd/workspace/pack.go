package workspace

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// TreeStats sums what GetTree has written, or PutTree.
type TreeStats struct {
	// Files is how many files, directories and links there were.
	Files int64 `json:"files"`
	// Bytes is the sum of the files' sizes.
	Bytes int64 `json:"bytes"`
}

const (
	// MaxTreeFiles is the maximum number of entries of an archive.
	MaxTreeFiles = 100_000
	maxTreeNames = 64 << 20         // bytes of all their paths and the texts of links
	treeTime     = 30 * time.Minute // of one call; the other side may be slow
)

// GetTree writes the files below a directory as a tar archive, with paths relative to it, sorted. It follows no
// symbolic link: links are in the archive, while FIFOs, sockets and devices are left out. A file that a payload
// shortens meanwhile, more than max bytes, and a directory whose mode forbids access are errors; the archive is
// incomplete then.
func (t *Tree) GetTree(path string, w io.Writer, max int64) (*TreeStats, error) {
	p, err := t.begin(path, parseArea)
	if err != nil {
		return nil, err
	}
	l := &lister{budget: t.newBudget("pack"), max: MaxTreeFiles, maxBytes: maxTreeNames, strict: true}
	if at, err := l.walk(p, true); err != nil {
		return nil, explain("read", at, err)
	}
	if l.more {
		no := refuse(CodeTooLarge, "There are more than %d files, more than %d directories in each other, or "+
			"more than %d bytes of names and links", MaxTreeFiles, maxDepth, maxTreeNames)
		no.NextSteps = []string{"Ask for the directories below it one by one, or for an archive that a run has made."}
		return nil, no
	}
	g := &packer{t: t, w: tar.NewWriter(w), top: len(p.String()) + 1, left: max}
	for i := range l.list {
		e := &l.list[i]
		if time.Now().After(l.until.Add(treeTime)) {
			return nil, refuse(CodeTooMuch, "To read %s takes more than %v", show(path), treeTime)
		}
		if err := g.entry(e); err != nil && !errors.Is(err, unix.ENOENT) { // it was removed meanwhile
			return nil, explain("read", placeOf(e), err)
		}
	}
	return &g.TreeStats, g.w.Close()
}

// placeOf returns where an Entry is. Its path is the kernel's own, so it can be parsed.
func placeOf(e *Entry) place { return place{names: strings.Split(e.path[1:], "/")} }

// parseArea parses the path of a directory in an area, or of an area itself.
func parseArea(path string) (place, error) {
	p, err := parse(path)
	if err == nil && len(p.names) == 0 {
		err = refuse(CodeBadPath, "%s is not in an area of the sandbox: name /work, or a directory below it", show(path))
	}
	return p, err
}

type packer struct {
	TreeStats
	t    *Tree
	w    *tar.Writer
	top  int // where the relative part of a path begins
	left int64
}

// entry writes one file.
func (g *packer) entry(e *Entry) error {
	h := &tar.Header{Name: e.path[g.top:], Linkname: e.target, Mode: e.mode, ModTime: e.ModTime}
	switch e.Type {
	case "dir":
		h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
	case "symlink":
		h.Typeflag = tar.TypeSymlink
	case "file":
		return g.file(placeOf(e), h)
	default:
		return nil
	}
	g.Files++
	return g.w.WriteHeader(h)
}

// file writes a regular file, of the size that it has when it is opened.
func (g *packer) file(p place, h *tar.Header) error {
	fd, err := g.t.openRegular(p)
	if err != nil {
		return err
	}
	f, err := g.t.hold(fd, p.String())
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	h.Typeflag, h.Size, h.Mode = tar.TypeReg, st.Size(), int64(st.Mode()&fs.ModePerm)
	if h.Size > g.left {
		return refuse(CodeTooLarge, "The files are larger than what may be read at once")
	}
	g.left -= h.Size
	g.Files, g.Bytes = g.Files+1, g.Bytes+h.Size
	if err := g.w.WriteHeader(h); err != nil {
		return err
	}
	if _, err = io.CopyN(g.w, f, h.Size); err == io.EOF {
		err = refuse(CodeBusy, "%s was shortened while it was read", show(p.String()))
	}
	return err
}
