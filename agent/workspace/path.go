package workspace

import (
	"slices"
	"strings"

	"brig/nsjail"
)

const (
	pathMax = 4096 // bytes of a path with its NUL: limits.h
	nameMax = 255  // bytes of one name
)

// areas are the directories of a Volume, which the jail sees in its root.
var areas = []string{"input", "work", "output"}

// place is a parsed path: an area and the names below it. Without an area it is the root, which only List and Stat
// accept. A name is not empty, ".", or "..", and contains no slash or NUL.
type place struct {
	area  string
	names []string
	slash bool // the path ended in a slash, so it must be a directory
}

// parse parses a path in the jail: absolute, or relative to /work. It may contain all bytes that the kernel accepts. It
// must not contain "..", since the kernel resolves that after symbolic links, and the lexical result would be a
// different file. A relative path must not begin with an area's name: "input/d" would mean /work/input/d, but the
// caller often means /input/d.
func parse(path string) (place, *nsjail.Refusal) {
	switch {
	case path == "":
		return place{}, refuse(CodeBadPath, "A path is empty")
	case len(path) >= pathMax:
		return place{}, refuse(CodeBadPath, "A path of %d bytes is too long: %s", len(path), show(path))
	case strings.IndexByte(path, 0) >= 0:
		return place{}, refuse(CodeBadPath, "A path has a NUL byte: %s", show(path))
	}
	var p place
	if path[0] != '/' {
		if first, _, deeper := strings.Cut(path, "/"); deeper && slices.Contains(areas, first) {
			return place{}, refuse(CodeBadPath, "%s is a relative path, which is below /work: write %s, or %s",
				show(path), show("/"+path), show("/work/"+path))
		}
		p.area = "work"
	}
	for name := range strings.SplitSeq(path, "/") {
		switch {
		case name == "" || name == ".":
			continue
		case name == "..":
			return place{}, refuse(CodeBadPath, "A path has %q in it: %s", "..", show(path))
		case len(name) > nameMax:
			return place{}, refuse(CodeBadPath, "A name of %d bytes is too long, the most is %d: %s", len(name), nameMax,
				show(path))
		case p.area == "":
			if !slices.Contains(areas, name) {
				return place{}, refuse(CodeOutside, "%s is not in the sandbox", show(path))
			}
			p.area = name
		default:
			p.names = append(p.names, name)
		}
	}
	last := path[strings.LastIndexByte(path, '/')+1:]
	p.slash = last == "" || last == "."
	return p, nil
}

// CheckPath returns a *nsjail.Refusal if a path is not below an area.
func CheckPath(path string) error {
	if _, r := below(path); r != nil {
		return r
	}
	return nil
}

// below parses a path that must be below an area.
func below(path string) (place, *nsjail.Refusal) {
	p, r := parse(path)
	if r == nil && len(p.names) == 0 {
		r = refuse(CodeBadPath, "%s is a directory of the sandbox itself: name something below it", show(path))
	}
	return p, r
}

// rel returns the path relative to the Volume's root.
func (p place) rel() string {
	if p.area == "" {
		return "."
	}
	return strings.Join(append([]string{p.area}, p.names...), "/")
}

// String returns the path in the jail, unescaped.
func (p place) String() string {
	if p.area == "" {
		return "/"
	}
	return "/" + p.rel()
}

// child returns the place of a name in the directory p.
func (p place) child(name string) place {
	if p.area == "" {
		return place{area: name}
	}
	return place{area: p.area, names: append(slices.Clip(p.names), name)}
}

// split returns the directory and the base name of a place below an area.
func (p place) split() (dir place, name string) {
	n := len(p.names) - 1
	return place{area: p.area, names: p.names[:n:n]}, p.names[n]
}
