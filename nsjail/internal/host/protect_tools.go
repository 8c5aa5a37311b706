package host

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/walk"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// tools protects the files of other programs at the top of a work tree: those that exist, and in an area absent ones.
func (p *protector) tools(dir string, area bool) {
	top := p.listing(dir)
	for _, name := range spec.ToolFiles {
		if area || top.has(name) {
			p.protectAt(dir, name, top)
		}
	}
	var home unix.Stat_t
	isHome := unix.Stat(os.Getenv("HOME"), &home) == nil && p.areas.id(dir) == walk.IDOf(&home)
	for _, name := range shellFiles {
		if isHome || top.has(name) && p.exists(path.Join(dir, name)) {
			p.protectAt(dir, name, top)
		}
	}
	for _, name := range homeFiles {
		if isHome {
			p.protectAt(dir, name, top)
		}
	}
	for _, name := range madeFiles {
		p.made(dir, name, top)
	}
}

// protectAt protects a path at a directory whose names are known.
func (p *protector) protectAt(dir, name string, top *listing) {
	if top.has(name) || strings.Contains(name, "/") {
		p.protectPath(dir, name)
	} else {
		p.protect(path.Join(dir, name), nil, "")
	}
}

// made protects the existing paths that a pattern matches.
func (p *protector) made(dir, pattern string, top *listing) {
	first, rest, below := strings.Cut(pattern, "/")
	for _, name := range top.match(first) {
		switch at := path.Join(dir, name); {
		case !below && p.exists(at):
			p.protectPath(dir, name)
		case !below:
		case strings.Contains(rest, "*"):
			p.made(at, rest, p.listing(at))
		case p.exists(path.Join(at, rest)):
			p.protectPath(dir, path.Join(name, rest))
		}
	}
}

// listing are the names in a directory, in lower case: some file systems do not tell Makefile from makefile.
type listing struct {
	names []string
	lower map[string]bool // nil if there are too many to list
}

// maxListed bounds the names of a directory that are read.
const maxListed = 1 << 16

// listing returns the names in a directory.
func (p *protector) listing(dir string) *listing {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		p.denied(dir, err)
		return &listing{}
	}
	d := os.NewFile(uintptr(fd), dir)
	defer d.Close()
	names, _ := d.Readdirnames(maxListed + 1)
	if len(names) > maxListed {
		p.h.Partial = append(p.h.Partial, words.Plain(fmt.Sprintf("git: %s has more than %d names: of those that a "+
			"pattern matches, as "+
			"in *.code-workspace, some may not be protected", words.Quote(dir), maxListed)))
		return &listing{names: names}
	}
	l := &listing{names, make(map[string]bool, len(names))}
	for _, name := range names {
		l.lower[strings.ToLower(name)] = true
	}
	return l
}

// has reports whether a path may exist: its first name does, or is not known.
func (l *listing) has(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return l.lower == nil || l.lower[strings.ToLower(first)]
}

// match returns the names that a pattern matches.
func (l *listing) match(pattern string) (list []string) {
	if !strings.ContainsAny(pattern, "*[") {
		if l.has(pattern) {
			list = append(list, pattern)
		}
		return list
	}
	for _, name := range l.names {
		if ok, _ := path.Match(strings.ToLower(pattern), strings.ToLower(name)); ok {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}
