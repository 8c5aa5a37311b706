package nsjail

import (
	"path/filepath"

	"brig/internal/store"
	"brig/internal/words"
	"brig/nsjail/internal/ghost"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// guard holds the ghosts of one jail.
type guard struct{ ghosts *ghost.Set }

// hold makes a ghost at each absent protected path, until the run ends.
func (g *guard) hold(h *host.Host) (err error) {
	for _, dir := range h.Stores {
		err := store.Make(dir, store.ParentMode())
		if err == nil {
			err = host.Folds(filepath.Dir(dir), filepath.Base(dir))
		}
		if err != nil {
			return spec.CallerError("protect", words.Quote(dir)+" is brig's own and cannot be protected: "+err.Error(),
				"show a directory that does not hold it, or show it read-only")
		}
	}
	if len(h.Ghosts) == 0 || g.ghosts != nil {
		return nil
	}
	places := make([]ghost.Place, len(h.Ghosts))
	for i, p := range h.Ghosts {
		places[i] = ghost.Place(p)
	}
	if g.ghosts, err = ghost.Hold(places); err != nil {
		return err
	}
	last := ""
	for _, p := range h.Ghosts { // a directory whose names have no case
		if p.Dir == last {
			continue
		}
		last = p.Dir
		if err := host.Folds(p.Dir, p.Name); err != nil {
			return spec.CallerError("protect", words.Quote(p.Dir+"/"+p.Name)+" "+err.Error(),
				"copy the tree to another file system")
		}
	}
	return nil
}

// replaced returns the paths in the jail of the protected files that the host has replaced meanwhile. Such a path has
// lost its protection, since the kernel detaches a mount when its mount point is removed in another mount namespace.
func (g *guard) replaced(h *host.Host) (targets []string) {
	for _, p := range h.Protected {
		var st unix.Stat_t
		if p.Path == "" || p.Absent || g.ghosts.Made(filepath.Dir(p.Path), filepath.Base(p.Path)) ||
			unix.Lstat(p.Path, &st) == nil && uint64(st.Dev) == p.Dev && st.Ino == p.Ino {
			continue
		}
		targets = append(targets, p.Target)
	}
	return targets
}

// release removes the ghosts.
func (g *guard) release() error {
	err := g.ghosts.Release()
	g.ghosts = nil
	return err
}

// CollectGhosts removes the ghosts that killed keepers of this user have left at absent protected paths, and returns
// the paths.
func CollectGhosts() (removed []string, err error) { return ghost.Collect() }
