package nsjail

import (
	"errors"
	"os"

	"brig/nsjail/internal/host"
	"brig/nsjail/internal/run"
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

// CollectStores removes the changes on disk that killed processes of this user have left. busy is the number of stores
// in use.
func CollectStores() (removed []string, busy int, err error) {
	dir, err := host.StoreDir()
	if err != nil {
		return nil, 0, err
	}
	return run.SweepStores(dir)
}
