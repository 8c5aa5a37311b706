package host

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"brig/internal/store"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/internal/walk"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// own protects brig's own directories: a payload could forge notes by which brig removes files, change sets and images.
func (p *protector) own() {
	if len(p.areas.list) == 0 {
		return
	}
	p.storing = true
	for _, dir := range store.Places() {
		p.protectPath("/", strings.TrimPrefix(dir, "/"))
	}
	if len(p.h.Protected) > 0 {
		p.otherMounts()
	}
	p.storing = false
}

// remedy returns how to take a path back.
func (p *protector) remedy(full string) words.Text {
	if p.storing {
		return "brig keeps its own files there: show another directory, or show it read-only"
	}
	if name := p.held[full]; name != "" {
		return "show it read-only, or take it back: " + spec.Unprotected(name)
	}
	return "show it read-only, or use " + spec.Unprotected()
}

// Folds returns an error if a file system ignores the case of names and the kernel's dentry cache does not know that: a
// mount would then cover only one spelling of the name.
func Folds(dir, name string) error {
	other := strings.ToUpper(name)
	if other == name {
		other = strings.ToLower(name)
	}
	var st, same unix.Stat_t
	if other == name || unix.Lstat(path.Join(dir, other), &same) != nil || unix.Lstat(path.Join(dir, name), &st) != nil ||
		st.Ino != same.Ino || st.Nlink > 1 && st.Mode&unix.S_IFMT == unix.S_IFREG {
		return nil
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return err
	}
	switch fs.Type { // their dentry cache knows the names as one (d_compare, d_add_ci)
	case unix.EXT4_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.XFS_SUPER_MAGIC, unix.MSDOS_SUPER_MAGIC,
		unix.EXFAT_SUPER_MAGIC:
		return nil
	}
	return fmt.Errorf("is also %s, and this file system (type %#x) does not tell the kernel", words.Quote(other), fs.Type)
}

// inside refuses a writable bind of something inside a protected path, and collects its files with several names.
func (p *protector) inside(full string, st *unix.Stat_t) {
	for i := range p.areas.list {
		a := &p.areas.list[i]
		search := (len(p.areas.list) > 1 || p.storing) && !a.cow && !(p.storing && a.internal)
		if search && p.areas.in(a, full, walk.IDOf(st)) {
			p.fail(full, "is protected, and the mount at "+words.Quote(a.target)+" shows "+words.Quote(a.path)+" writable",
				p.remedy(full))
		}
	}
	switch {
	case p.storing: // hard links to its files are the user's own, and images have too many files to search
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		var links []string
		p.walk(full, func(v walk.Entry) error {
			p.links.Visit(v, full)
			if v.Kind == unix.S_IFLNK {
				links = append(links, filepath.Join(full, v.Path()))
			}
			return nil
		})
		for _, link := range links {
			p.link(link)
		}
	default:
		p.links.Add(st, full)
	}
}

// link protects what a symbolic link in a protected directory leads to, and the links on the way. One that holds the
// link, or is shown itself, cannot be: it is noted.
func (p *protector) link(name string) {
	was := p.linking
	p.linking = true
	defer func() { p.linking = was }()
	full, st := p.follow(filepath.Dir(name), filepath.Base(name))
	if st == nil {
		return
	}
	holds := func(a area) bool { return sys.Under(a.path, full) }
	if st.Mode&unix.S_IFMT == unix.S_IFDIR && (sys.Under(name, full) || slices.ContainsFunc(p.areas.list, holds)) {
		p.h.Partial = append(p.h.Partial, words.Plain(words.Quote(name)+" is in a protected directory and leads to "+
			words.Quote(full)+
			", which holds all of it and is not protected"))
		return
	}
	p.protect(full, st, "")
}

// walk visits a tree. A tree that is too large to search is an error, because it may hold another name of a protected
// file.
func (p *protector) walk(full string, visit walk.Visit) {
	seen, err := walk.Tree(unix.AT_FDCWD, full, visit)
	if err != nil || seen >= walk.Max {
		p.fail(full, errors.Join(err, fmt.Errorf("holds %d entries or more, too many to look for hard links",
			walk.Max)).Error(), p.remedy(full))
	}
}

// otherNames refuses a bind that holds another name of a protected file: link(2).
func (p *protector) otherNames() {
	if len(p.links) == 0 || p.err != nil {
		return
	}
	for _, a := range p.areas.list {
		if a.cow {
			continue
		}
		p.walk(a.path, func(v walk.Entry) error {
			same, ok := p.links.Same(v)
			if full := filepath.Join(a.path, v.Path()); ok && !p.held.covers(full) {
				p.fail(same, "is the same file as "+words.Quote(full)+" (a hard link), which is writable",
					words.Plain(breakLink(full)))
			}
			return nil
		})
	}
}
