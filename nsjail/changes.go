package nsjail

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/run"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Change is the upper directory of an overlay of a jail, with what its payload has changed. It has the form that the
// kernel's documentation of overlayfs describes for the option userxattr: a removed file is a character device 0:0, and
// a directory that hides the one below it has the extended attribute user.overlay.opaque. A payload controls all that
// is in it: names, symbolic links, modes, FIFOs, and no permission on the directory itself.
type Change struct {
	Mount  int    // the index of the mount in Spec.Mounts; -1 for the root
	Source string // the directory of the host that has not changed, absolute
	Target string // where the payload has changed it
	// Base is the directory of the host, as it was opened before the payload existed.
	Base *os.File
	// Upper is the upper directory, open for reading.
	Upper *os.File

	store *run.Store // nil for changes in memory
}

// Close closes the files and drops the changes. Changes in memory are dropped by closing the files alone; those on disk
// otherwise last until the next jail with such a mount, or CollectStores, finds them after the end of this process. A
// second Close does nothing.
func (ch *Change) Close() error {
	if ch.Upper == nil {
		return nil
	}
	err := errors.Join(ch.Base.Close(), ch.Upper.Close())
	if ch.store != nil {
		err = errors.Join(err, ch.store.Remove())
	}
	ch.Base, ch.Upper, ch.store = nil, nil, nil
	return err
}

// Keep closes the files and keeps the changes on disk until somebody removes them: Upper is then the directory "upper"
// in path. Changes in memory are dropped, and path is "".
func (ch *Change) Keep() (path string, err error) {
	store := ch.store
	ch.store = nil
	if err = ch.Close(); store != nil {
		var kerr error
		path, kerr = store.Keep()
		err = errors.Join(err, kerr)
	}
	return path, err
}

// addChange adds the next upper directory that arrives from the jail. The sources are still open.
func (c *Cmd) addChange(upper int) error {
	i := c.plan.Uppers[len(c.changes)]
	src := c.plan.Host.Sources[spec.SourceKey(i)]
	base, err := unix.Openat(src.Fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return errors.Join(&os.PathError{Op: "open", Path: src.Path, Err: err}, unix.Close(upper))
	}
	c.changes = append(c.changes, Change{Mount: i, Source: src.Path, Target: c.Spec.COW(i).Target,
		Base: os.NewFile(uintptr(base), src.Path), Upper: os.NewFile(uintptr(upper), "upper")})
	return nil
}

// takeChanges hands the changes over to the facts, with their stores. The store of a root that is not kept is removed.
func (c *Cmd) takeChanges() error {
	for i := range c.changes {
		ch := &c.changes[i]
		ch.store = c.stores[ch.Mount]
		delete(c.stores, ch.Mount)
	}
	c.facts.changes, c.changes = c.changes, nil
	return c.dropChanges()
}

// dropChanges drops the changes that do not go into the Result.
func (c *Cmd) dropChanges() error {
	var errs []error
	for i := range c.changes {
		errs = append(errs, c.changes[i].Close())
	}
	for _, s := range c.stores {
		errs = append(errs, s.Remove())
	}
	c.changes, c.stores = nil, nil
	return errors.Join(errs...)
}

// openStores makes the directories for changes on disk, once for each Cmd, and replaces Look's placeholders for them in
// the Host.
func (c *Cmd) openStores(h *host.Host) error {
	if h.Scratch != "" && h.HasTier() { // or Resolve returns the error
		m := spec.Mount{Target: "$TMPDIR", Size: cmp.Or(c.Spec.Scratch, spec.DefaultTmpfsSize),
			Inodes: spec.DefaultTmpfsInodes}
		if err := c.openStore(scratchStore, m, 0o700, h); err != nil {
			return spec.HostError("tier", err.Error(), host.OtherStore)
		}
		h.Scratch = filepath.Join(c.stores[scratchStore].Path, "upper")
	}
	for i, m := range c.Spec.COWs() {
		lower, upper := h.Sources[spec.SourceKey(i)], h.Sources[spec.UpperKey(i)]
		if upper == nil || lower.NoOverlay != "" || lower.NoUpper != "" { // Resolve returns the error
			continue
		}
		if c.stores[i] == nil {
			if err := c.openStore(i, m, lower.Mode, h); err != nil {
				return spec.HostError("cow", words.Quote(m.Target)+": "+err.Error(), host.OtherStore)
			}
		}
		var st unix.Stat_t
		s := c.stores[i]
		fd, err := unix.FcntlInt(s.Dir.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err = errors.Join(err, unix.Fstat(int(s.Dir.Fd()), &st)); err != nil {
			return fmt.Errorf("%s: %w", s.Path, err)
		}
		*upper = host.Source{Path: s.Path, Dev: uint64(st.Dev), Ino: st.Ino, Dir: true, Fd: fd,
			UID: int(st.Uid), GID: int(st.Gid), Mode: st.Mode}
	}
	return nil
}

// scratchStore is the key in Cmd.stores of the directory that a payload without a mount namespace has for itself.
const scratchStore = -2

func (c *Cmd) openStore(i int, m spec.Mount, mode uint32, h *host.Host) error {
	dir, err := host.StoreDir()
	if err != nil {
		return err
	}
	s, err := run.NewStore(dir, h.PayloadUID, h.PayloadGID, mode&0o1777)
	if err != nil {
		return err
	}
	s.Target, s.Most = m.Target, run.Usage{Bytes: int64(m.Size), Files: m.Inodes}
	if c.stores == nil {
		c.stores = map[int]*run.Store{}
	}
	c.stores[i] = s
	return nil
}

// CollectStores removes the changes on disk that killed processes of this user have left. busy is the number of stores
// in use.
func CollectStores() (removed []string, busy int, err error) {
	dir, err := host.StoreDir()
	if err != nil {
		return nil, 0, err
	}
	return run.SweepStores(dir)
}
