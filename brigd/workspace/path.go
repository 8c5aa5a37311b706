package workspace

import (
	"slices"
	"strings"
)

const (
	pathMax = 4096 // bytes of a path with its NUL: limits.h
	nameMax = 255  // bytes of one name
)

// areas are the directories of a Volume, which the jail sees in its root.
var areas = []string{"input", "work", "output"}

// place is a parsed path: the name of an area and the names below it. Without names it is the root, which only List
// accepts. A name is not empty, ".", or "..", and contains no slash or NUL.
type place struct {
	names []string
	slash bool // the path ended in a slash, so it must be a directory
}

// parse parses a path in the jail: absolute, or relative to /work. It may contain all bytes that the kernel accepts. It
// must not contain "..", since the kernel resolves that after symbolic links, and the lexical result would be a
// different file. A relative path must not begin with an area's name: "input/d" would mean /work/input/d, but the
// caller often means /input/d.
func parse(path string) (p place, err error) {
	switch {
	case path == "":
		return p, refuse(CodeBadPath, "A path is empty")
	case len(path) >= pathMax:
		return p, refuse(CodeBadPath, "A path of %d bytes is too long: %s", len(path), show(path))
	case strings.IndexByte(path, 0) >= 0:
		return p, refuse(CodeBadPath, "A path has a NUL byte: %s", show(path))
	}
	if path[0] != '/' {
		if first, _, deeper := strings.Cut(path, "/"); deeper && slices.Contains(areas, first) {
			return p, refuse(CodeBadPath, "%s is a relative path, which is below /work: write %s, or %s",
				show(path), show("/"+path), show("/work/"+path))
		}
		p.names = []string{"work"}
	}
	for name := range strings.SplitSeq(path, "/") {
		p.slash = name == "" || name == "."
		switch {
		case p.slash:
			continue
		case name == "..":
			return place{}, refuse(CodeBadPath, "A path has %q in it: %s", "..", show(path))
		case len(name) > nameMax:
			return place{}, refuse(CodeBadPath, "A name of %d bytes is too long, the most is %d: %s", len(name), nameMax,
				show(path))
		case len(p.names) == 0 && !slices.Contains(areas, name):
			return place{}, refuse(CodeOutside, "%s is not in the sandbox", show(path))
		}
		p.names = append(p.names, name)
	}
	return p, nil
}

// CheckPath returns a *job.Refusal if a path is not below an area.
func CheckPath(path string) error {
	_, err := below(path)
	return err
}

// Abs returns a path as an absolute one without needless slashes and dots. An absolute path that no method accepts is
// returned unchanged, so that they refuse it.
func Abs(path string) (string, error) {
	p, err := parse(path)
	switch {
	case err != nil && strings.HasPrefix(path, "/"):
		return path, nil
	case p.slash && len(p.names) > 0:
		return p.String() + "/", err
	}
	return p.String(), err
}

// below parses a path that must be below an area.
func below(path string) (place, error) {
	p, err := parse(path)
	if err == nil && len(p.names) < 2 {
		err = refuse(CodeBadPath, "%s is a directory of the sandbox itself: name something below it", show(path))
	}
	return p, err
}

// parseFile parses the path of a file.
func parseFile(path string) (place, error) {
	p, err := below(path)
	if err == nil && p.slash {
		err = refuse(CodeBadPath, "%s ends in a slash: a file is wanted", show(path))
	}
	return p, err
}

// rel returns the path relative to the Volume's root.
func (p place) rel() string {
	if len(p.names) == 0 {
		return "."
	}
	return strings.Join(p.names, "/")
}

// String returns the path in the jail, unescaped.
func (p place) String() string { return "/" + strings.Join(p.names, "/") }

// child returns the place of a name in the directory p.
func (p place) child(name string) place { return place{names: append(slices.Clip(p.names), name)} }

// split returns the directory and the base name of a place below an area.
func (p place) split() (dir place, name string) {
	n := len(p.names) - 1
	return place{names: p.names[:n]}, p.names[n]
}
