package nsjail

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"brig/internal/words"
	"brig/nsjail/internal/disk"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/run"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// disks are the directories for a jail's changes on disk, and its upper directories, in memory or on disk.
type disks struct {
	stores   map[int]*run.Store // by mount
	bounds   []*disk.Bound      // of directories that the caller holds
	changes  []Change           // those of plan.Uppers that have arrived
	counting sync.Mutex         // held while the changes on disk are counted
}

// scratchStore is the key in disks.stores of the directory that a payload without a mount namespace has for itself.
const scratchStore = -2

// open makes the directories for changes on disk, once for each jail, and returns them for the places that Look has
// found. With an error, too, the sources are open.
func (d *disks) open(s *spec.Spec, h *host.Host) (made host.Prepared, err error) {
	if err := d.bound(s); err != nil {
		return made, err
	}
	if h.Scratch != "" && h.HasTier() { // or Resolve returns the error
		m := spec.Mount{Target: "$TMPDIR", Size: cmp.Or(s.Scratch, spec.DefaultTmpfsSize),
			Inodes: spec.DefaultTmpfsInodes}
		if err := d.openStore(scratchStore, m, 0o700, h); err != nil {
			return made, spec.HostError("tier", err.Error(), host.OtherStore)
		}
		made.Scratch = filepath.Join(d.stores[scratchStore].Path, "upper")
	}
	for i, m := range s.COWs() {
		lower, upper := h.Sources.Of(i), h.Sources.At(host.UpperOf(i))
		if upper == nil || lower.NoOverlay != "" || lower.NoUpper != "" { // Resolve returns the error
			continue
		}
		if d.stores[i] == nil {
			if err := d.openStore(i, m, lower.Mode, h); err != nil {
				return made, spec.HostError("cow", words.Quote(m.Target)+": "+err.Error(), host.OtherStore)
			}
		}
		var st unix.Stat_t
		s := d.stores[i]
		fd, err := unix.FcntlInt(s.Dir.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err = errors.Join(err, unix.Fstat(int(s.Dir.Fd()), &st)); err != nil {
			return made, fmt.Errorf("%s: %w", s.Path, err)
		}
		made.Sources.Put(host.UpperOf(i), &host.Source{Path: s.Path, Dev: uint64(st.Dev), Ino: st.Ino, Dir: true, Fd: fd,
			UID: int(st.Uid), GID: int(st.Gid), Mode: st.Mode})
	}
	return made, nil
}

// bound begins to watch the directories that the caller holds and has bounded, once for each jail.
func (d *disks) bound(s *spec.Spec) error {
	for i := range s.Mounts {
		m := &s.Mounts[i]
		known := slices.ContainsFunc(d.bounds, func(b *disk.Bound) bool { return b.Target == m.Target })
		if m.Held == nil || m.Held.Most == 0 || known {
			continue
		}
		b, err := disk.NewBound(m.Held.File, m.Target, int64(m.Held.Used), int64(m.Held.Most))
		if err != nil {
			return fmt.Errorf("%s: %w", m.Source, err)
		}
		d.bounds = append(d.bounds, b)
	}
	return nil
}

// watched reports whether the keeper has something to count while the jail runs.
func (d *disks) watched() bool { return len(d.stores)+len(d.bounds) > 0 }

func (d *disks) openStore(i int, m spec.Mount, mode uint32, h *host.Host) error {
	dir, err := host.StoreDir()
	if err != nil {
		return err
	}
	s, err := run.NewStore(dir, h.PayloadUID, h.PayloadGID, mode&0o1777)
	if err != nil {
		return err
	}
	s.Target, s.Most = m.Target, disk.Usage{Bytes: int64(m.Size), Files: m.Inodes}
	if d.stores == nil {
		d.stores = map[int]*run.Store{}
	}
	d.stores[i] = s
	return nil
}

// add adds the next upper directory that arrives from the jail. The sources are still open.
func (d *disks) add(p *plan.Plan, upper int) error {
	i := p.Uppers[len(d.changes)]
	src := p.Host.Sources.Of(i)
	base, err := unix.Openat(src.Fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		op := "rootfs.path"
		if i >= 0 {
			op = spec.Index("mounts", i) + ".source"
		}
		return errors.Join(spec.CallerError(op, words.Quote(src.Path)+": "+err.Error(),
			"changes are compared with it: let its user list it (chmod u+rx), or show another directory"), unix.Close(upper))
	}
	d.changes = append(d.changes, Change{Mount: i, Source: src.Path, Target: p.Spec.COW(i).Target,
		Base: os.NewFile(uintptr(base), src.Path), Upper: os.NewFile(uintptr(upper), "upper")})
	return nil
}

// exceeded reports whether a directory's changes are above their limit, or have made its file system almost full.
// hidden counts what processes have open and have removed. The caller holds counting.
func (d *disks) exceeded(hidden func() int64) bool {
	unlinked := int64(-1) // not counted yet
	for _, s := range d.stores {
		over := false
		if s.Bounded() {
			if unlinked < 0 {
				unlinked = hidden()
			}
			used, err := s.Measure()
			used.Bytes += unlinked
			over = used.Over(s.Most) || err != nil // what cannot be counted may be anything
		}
		if over || s.Low() {
			return true
		}
	}
	for _, b := range d.bounds {
		if b.Exceeded(time.Now()) {
			return true
		}
	}
	return false
}

// count counts the changes on disk after the end. ended reports whether the keeper has ended the jail for them.
func (d *disks) count(at *disksAtEnd, ended bool) error {
	d.counting.Lock() // a last checkDisk may still run
	defer d.counting.Unlock()
	var errs []error
	for _, b := range d.bounds {
		if b.Over() {
			at.full, at.over, ended = append(at.full, b.Target), true, false
		}
	}
	for _, s := range d.stores {
		used, err := s.Measure()
		if used.Over(s.Most) || errors.Is(err, disk.ErrTooDeep) || ended {
			at.full = append(at.full, s.Target)
			at.over, err = true, nil
		}
		at.bytes = max(0, at.bytes) + used.Bytes
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// take hands the changes over, with their stores. The store of a root that is not kept is removed.
func (d *disks) take() ([]Change, error) {
	for i := range d.changes {
		ch := &d.changes[i]
		ch.store = d.stores[ch.Mount]
		delete(d.stores, ch.Mount)
	}
	list := d.changes
	d.changes = nil
	return list, d.drop()
}

// drop drops the changes that nobody has taken.
func (d *disks) drop() error {
	var errs []error
	for i := range d.changes {
		errs = append(errs, d.changes[i].Close())
	}
	for _, s := range d.stores {
		errs = append(errs, s.Remove())
	}
	for _, b := range d.bounds {
		errs = append(errs, b.Close())
	}
	d.changes, d.stores, d.bounds = nil, nil, nil
	return errors.Join(errs...)
}
