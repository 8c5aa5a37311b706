package workspace

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"brig/brigd/workspace/inotify"
	"brig/internal/sys"
)

// add watches a directory and, if the watch is recursive, those below it, the near ones first. Each is opened from the
// root, through no symbolic link, watched by its descriptor, and only then read. found is called for each entry; it may
// be nil. Only an error about p itself, or from found, is returned.
func (w *watch) add(p place, b *budget, found func(p place, kind uint32) error) error {
	buf := make([]byte, sys.EntriesSize)
	for level, depth := []place{p}, 0; len(level) > 0; depth++ {
		var below []place
		for _, d := range level {
			if full := w.full(d, depth); full != "" {
				w.unwatched(d, full)
				return nil
			}
			dirs, err := w.dir(d, b, found, buf)
			if err != nil && depth == 0 {
				return err
			}
			if why := reason(err); why != "" {
				w.unwatched(d, why)
			} else if err != nil && !vanished(err) {
				return err
			}
			below = append(below, dirs...)
		}
		level = below
	}
	return nil
}

// reason returns why a directory is not watched, for an error that is no fault; otherwise "".
func reason(err error) string {
	switch {
	case errors.Is(err, unix.EACCES):
		return "its mode forbids it"
	case errors.Is(err, unix.ENOSPC): // of inotify_add_watch(2)
		return "as many directories are watched as this machine allows (fs.inotify.max_user_watches)"
	}
	return ""
}

// full returns why no further directory is watched; "" if one may be.
func (w *watch) full(d place, depth int) string {
	switch {
	case len(w.paths) >= maxWatchedDirs:
		return "a watch has at most " + strconv.Itoa(maxWatchedDirs) + " directories: others are not watched either"
	case depth > maxDepth:
		return "it is below more than " + strconv.Itoa(maxDepth) + " directories"
	case len(d.String()) >= pathMax:
		return "its path is too long"
	}
	return ""
}

func (w *watch) unwatched(d place, why string) {
	n := notice("unwatched", d.String(), true)
	n.Note = why
	w.told = append(w.told, n)
}

// dir watches one directory, and returns those in it that are to be watched, too.
func (w *watch) dir(d place, b *budget, found func(place, uint32) error, buf []byte) (below []place, err error) {
	fd, err := w.t.open(d, readDir)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	id, err := w.subscribe(fd)
	if err != nil {
		return nil, err
	}
	w.paths[id] = d.String()
	if !w.recursive && found == nil {
		return nil, nil
	}
	for e, err := range sys.Entries(fd, buf) {
		if err == nil {
			err = b.spend(d)
		}
		if err != nil {
			return nil, err
		}
		name := e.Name()
		if len(d.names) == 0 && !slices.Contains(areas, name) {
			continue
		}
		p := d.child(name)
		if found != nil {
			if err := found(p, e.Kind); err != nil {
				return nil, err
			}
		}
		if e.Kind == unix.S_IFDIR && w.recursive && len(w.paths)+len(below) <= maxWatchedDirs {
			below = append(below, p)
		}
	}
	return below, nil
}

// handle tells events.
func (w *watch) handle(list []inotify.Raw) {
	partners := inotify.Partners(list)
	skip := map[int]bool{}
	wrote := map[string]bool{} // the last thing that was told of a path is a write
	for i := range list {
		r := &list[i]
		switch dir, known := w.paths[r.Watch]; {
		case w.over || skip[i]:
		case r.Is(unix.IN_Q_OVERFLOW):
			w.again()
		case !known: // of a directory that is not watched any more
		case r.Name == "":
			w.self(r, dir)
		case dir == "/" && !slices.Contains(areas, r.Name): // a temporary file of Put
		default:
			if to, ok := partners[i]; ok && w.renamed(r, &list[to], dir) {
				skip[to] = true
				wrote = map[string]bool{}
				continue
			}
			w.one(r, join(dir, r.Name), wrote)
		}
	}
}

func join(dir, name string) string {
	if dir == "/" {
		return dir + name
	}
	return dir + "/" + name
}

// self handles an event of a watched directory itself. What happens to one below the top its parent tells.
func (w *watch) self(r *inotify.Raw, dir string) {
	top := dir == w.top.String()
	switch {
	case r.Is(unix.IN_IGNORED):
		delete(w.paths, r.Watch)
	case r.Is(unix.IN_ATTRIB) && top:
		w.told = append(w.told, notice("chmod", dir, true))
	}
	if top && r.Is(unix.IN_IGNORED|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_UNMOUNT) {
		w.over = true
		w.told = append(w.told, Notice{Type: "end", Note: "the directory was removed or moved"})
	}
}

// again begins again after events were lost: directories may have been made and moved.
func (w *watch) again() {
	w.told = append(w.told, Notice{Type: "overflow",
		Note: "files have changed faster than this was read: look at them again"})
	w.release(w.paths.Drop(w.top.String()))
	if err := w.add(w.top, w.t.newBudget("watch"), nil); err != nil {
		w.over = true
		w.told = append(w.told, Notice{Type: "end", Note: "the directory can no longer be read"})
	}
}

// renamed tells a rename of which both halves are watched, and reports whether it is one.
func (w *watch) renamed(from, to *inotify.Raw, dir string) bool {
	target, known := w.paths[to.Watch]
	if !known || target == "/" && !slices.Contains(areas, to.Name) {
		return false
	}
	was, is := join(dir, from.Name), join(target, to.Name)
	n, old := notice("rename", is, from.Is(unix.IN_ISDIR)), notice("", was, false)
	n.Old, n.RawOld = old.Path, old.RawPath
	w.told = append(w.told, n)
	if n.Dir && w.recursive {
		w.release(w.paths.Drop(is)) // of an empty directory that it has replaced
		w.release(w.paths.Move(was, is, pathMax))
		w.newDir(is) // what stands there may not be watched yet: it was renamed before its first event was read
	}
	return true
}

// one tells an event of a name in a watched directory.
func (w *watch) one(r *inotify.Raw, path string, wrote map[string]bool) {
	kind := ""
	switch {
	case r.Is(unix.IN_MODIFY):
		if wrote[path] {
			return
		}
		kind = "write"
	case r.Is(unix.IN_ATTRIB):
		kind = "chmod"
	case r.Is(unix.IN_CREATE | unix.IN_MOVED_TO):
		kind = "create"
	case r.Is(unix.IN_DELETE | unix.IN_MOVED_FROM):
		kind = "remove"
	default:
		return
	}
	wrote[path] = kind == "write"
	dir := r.Is(unix.IN_ISDIR)
	w.told = append(w.told, notice(kind, path, dir))
	switch {
	case !dir || !w.recursive:
	case kind == "create":
		w.newDir(path)
	case kind == "remove":
		w.release(w.paths.Drop(path))
	}
}

// errManyFresh ends the reading of new directories.
var errManyFresh = errors.New("too many entries in new directories")

// newDir watches a directory that has appeared, and tells what is in it already. One that is watched under this path
// stays so.
func (w *watch) newDir(path string) {
	p, err := parse(path)
	if err == nil && w.watched(p) {
		return
	}
	if err == nil {
		err = w.add(p, w.t.newBudget("watch"), func(p place, kind uint32) error {
			if w.fresh--; w.fresh < 0 {
				return errManyFresh
			}
			w.told = append(w.told, notice("create", p.String(), kind == unix.S_IFDIR))
			return nil
		})
	}
	switch {
	case err == nil || vanished(err):
	case errors.Is(err, errManyFresh):
		w.told = append(w.told, Notice{Type: "overflow", Note: "many files have appeared at once: look at them again"})
	default:
		w.unwatched(p, cmp.Or(reason(err), "it cannot be watched: "+err.Error()))
	}
}

// watched reports whether the directory that is now at a path is watched, and sets its path.
func (w *watch) watched(p place) bool {
	fd, err := w.t.open(p, readDir)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	id, err := w.subscribe(fd)
	if err != nil {
		return false
	}
	if _, known := w.paths[id]; !known {
		w.release([]int{id}) // add counts it
		return false
	}
	w.paths[id] = p.String()
	return true
}
