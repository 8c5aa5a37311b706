package workspace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"brig/layer"
)

// Past is what a restored sandbox keeps of the one that an earlier process created.
type Past struct {
	ID            string
	Created, Used time.Time
}

// Table is what Pack knows of an earlier layer of a sandbox.
type Table = layer.Table

// Pack writes the files of the sandbox as a layer. A payload may change them meanwhile: each file is then packed as it
// was at some moment, and one that is shortened while it is read is filled up with zeros. Pack does not count as a use.
// It fills an empty Table. With a filled one it writes only what has changed since. t may be nil.
func (b *Sandbox) Pack(w io.Writer, t *Table) (*layer.Stats, error) {
	o := &layer.PackOptions{Live: true, Table: t, MaxBytes: b.Size, MaxFiles: b.Inodes, Skip: func(name string) bool {
		area, _, _ := strings.Cut(name, "/")
		return !slices.Contains(areas, area) // the files that Put has not completed
	}}
	var s *layer.Stats
	err := b.Tree.root(func(int) (err error) {
		s, err = layer.Pack(w, b.Volume.Root(), o)
		return err
	})
	if _, ok := errors.AsType[*layer.LimitError](err); ok {
		no := refuse(CodeTooLarge, "More than %d bytes and %d files, the quota, cannot be kept: of a sparse file its whole "+
			"length counts, and a run may change files meanwhile", b.Size, b.Inodes)
		no.NextSteps = []string{"Delete sparse files, or shorten them with truncate in a run.",
			"Create the sandbox with a larger quota.", "If a run keeps changing the files, end it first."}
		return s, no
	}
	return s, err
}

// Files are those of a sandbox, in layers that Pack has written.
type Files struct{ index *layer.Index }

// Read reads the headers of a layer, and of one with changes unless it is nil. They must not change as long as the
// Files are used.
func Read(base, changes *io.SectionReader) (Files, error) {
	x, err := layer.NewIndex(base)
	if err == nil && changes != nil {
		err = x.Change(changes)
	}
	return Files{x}, err
}

// Unpack fills a new Volume of a quota with files, in the name of its owner.
func (f Files) Unpack(v Volume, size, inodes int64) error {
	err := f.index.Unpack(v.Root(), func(do func() error) error { return asOwner(v, do) })
	if errors.Is(err, unix.ENOSPC) {
		return refuse(CodeDiskFull, "The files do not fit into %d bytes and %d inodes", size, inodes)
	}
	return err
}

// asOwner calls f with the file system ids of a Volume's owner (setfsuid(2)): root has no capability over files then.
func asOwner(v Volume, f func() error) error {
	uid, gid := v.Owner()
	if os.Geteuid() == uid {
		return f()
	}
	runtime.LockOSThread() // if the ids cannot be set back, the thread ends with the goroutine
	_, _ = unix.SetfsgidRetGid(gid)
	_, _ = unix.SetfsuidRetUid(uid)
	now, _ := unix.SetfsuidRetUid(-1) // an invalid id changes nothing
	var err error
	if now != uid {
		err = fmt.Errorf("sandbox: files cannot be made for user %d", uid)
	} else {
		err = f()
	}
	_, _ = unix.SetfsuidRetUid(os.Geteuid())
	_, _ = unix.SetfsgidRetGid(os.Getegid())
	if now, _ := unix.SetfsuidRetUid(-1); now == os.Geteuid() {
		runtime.UnlockOSThread()
	}
	return err
}

// Changed returns a number that grows with each change of the sandbox's files, and the number of runs, which may change
// them at any time.
func (b *Sandbox) Changed() (n int64, running int) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	return b.changes, len(b.runs)
}

// Used returns the time of the last use.
func (b *Sandbox) Used() time.Time {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	return b.used
}

// wrote records a change by the host.
func (b *Sandbox) wrote() {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	b.changes++
}

// Hold counts a snapshot towards the bounds on sandboxes.
type Hold struct{ b *Sandbox }

// Hold counts bytes for an account, until Release.
func (s *Store) Hold(account string, bytes int64) (*Hold, error) {
	h := &Hold{&Sandbox{CreateOptions: CreateOptions{Size: bytes, Account: account}, store: s}}
	if err := s.reserve(h.b); err != nil {
		return nil, err
	}
	s.pending.Done()
	return h, nil
}

// growth is the number of bytes that Grow adds at once, so that most writes of a snapshot need no new check of the
// bounds.
const growth = 256 << 10

// Grow raises the number of bytes to at least the given one, if the bounds allow it.
func (h *Hold) Grow(bytes int64) error {
	s := h.b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes <= h.b.Size {
		return nil
	}
	own, all := s.sums(h.b.Account)
	more := bytes - h.b.Size
	if s.fits(more+growth, own, all) == nil {
		more += growth
	}
	if err := s.fits(more, own, all); err != nil {
		return err
	}
	h.b.Size += more
	return nil
}

// Set changes the number of bytes.
func (h *Hold) Set(bytes int64) {
	h.b.store.mu.Lock()
	defer h.b.store.mu.Unlock()
	h.b.Size = bytes
}

// Release ends the Hold.
func (h *Hold) Release() { h.b.store.free(h.b) }
