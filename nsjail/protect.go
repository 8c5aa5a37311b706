package nsjail

import (
	"path/filepath"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/internal/ghost"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// makeGhosts makes a ghost at each absent protected path, until the run ends.
func (c *Cmd) makeGhosts(h *host.Host) (err error) {
	for _, dir := range h.Stores {
		err := sys.MakeStore(dir, sys.StoreMode())
		if err == nil {
			err = host.Folds(filepath.Dir(dir), filepath.Base(dir))
		}
		if err != nil {
			return spec.CallerError("protect", words.Quote(dir)+" is brig's own and cannot be protected: "+err.Error(),
				"show a directory that does not hold it, or show it read-only")
		}
	}
	if len(h.Ghosts) == 0 || c.ghosts != nil {
		return nil
	}
	places := make([]ghost.Place, len(h.Ghosts))
	for i, g := range h.Ghosts {
		places[i] = ghost.Place(g)
	}
	if c.ghosts, err = ghost.Hold(places); err != nil {
		return err
	}
	last := ""
	for _, g := range h.Ghosts { // a directory whose names have no case
		if g.Dir == last {
			continue
		}
		last = g.Dir
		if err := host.Folds(g.Dir, g.Name); err != nil {
			return spec.CallerError("protect", words.Quote(g.Dir+"/"+g.Name)+" "+err.Error(),
				"copy the tree to another file system")
		}
	}
	return nil
}

// removeGhosts removes the ghosts, and records each file that the host has replaced meanwhile. Such a path has lost its
// protection, since the kernel detaches a mount when its mount point is removed in another mount namespace.
func (c *Cmd) removeGhosts() error {
	if c.plan != nil && c.facts != nil {
		for _, p := range c.plan.Host.Protected {
			var st unix.Stat_t
			if p.Path == "" || p.Absent || c.ghosts.Made(filepath.Dir(p.Path), filepath.Base(p.Path)) ||
				unix.Lstat(p.Path, &st) == nil && uint64(st.Dev) == p.Dev && st.Ino == p.Ino {
				continue
			}
			c.facts.replaced = append(c.facts.replaced, p.Target)
		}
	}
	err := c.ghosts.Release()
	c.ghosts = nil
	return err
}

// CollectGhosts removes the ghosts that killed keepers of this user have left at absent protected paths, and returns
// the paths.
func CollectGhosts() (removed []string, err error) { return ghost.Collect() }
