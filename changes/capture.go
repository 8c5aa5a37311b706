package changes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"brig/internal/owned"
	"brig/internal/sys"
	"brig/layer"

	"golang.org/x/sys/unix"
)

// Captured is what Capture has found and kept.
type Captured struct {
	Set     *Set      // nil if nothing has changed that a set can hold
	LeftOut []Refused // the first files that no set can hold, or for which this one has no room
	Left    int       // how many these are
	Full    bool      // some of them are left out because the store has no room
	Expired []string  // the ids of older sets that were removed, since they exceed the Limits
}

// Capture makes a set of the changes in upper, the upper directory of an overlay whose lower directory is base. dir is
// the path of base, under which Apply will look for it. A file that is copied up but equal to the base's is no change.
// The caller ensures that nothing writes to upper meanwhile. run.Started must be set: files of the base that were
// changed later are marked as Raced.
//
// The set is in the store when Capture returns, and older sets that exceed the store's Limits are not. It takes no more
// bytes than these have. When ctx ends, so does Capture, and no set is kept.
func (s *Store) Capture(ctx context.Context, base, upper *os.File, dir string, run *Run) (*Captured, error) {
	room, err := s.room()
	if err != nil {
		return nil, err
	}
	left := int64(maxOld)
	c := &comparer{ctx: ctx, kept: map[string]bool{}, links: map[uint64]*link{}, started: run.Started.UnixNano(),
		room: room, upper: reader{own: true, ctx: ctx}, base: reader{ctx: ctx, left: &left}}
	h := &Header{Version: version, Run: *run}
	err = sys.Control(base, func(b int) error {
		return sys.Control(upper, func(u int) (err error) {
			var st, top unix.Stat_t
			if err := errors.Join(unix.Fstat(b, &st), unix.Fstat(u, &top)); err != nil {
				return err
			}
			h.Dir = Dir{Name(dir), st.Dev, st.Ino}
			restore, err := owned.Lend(u, 0o500) // the payload may have removed all permissions
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, restore()) }()
			return c.compare(u, b, &st, &top, &h.Counts)
		})
	})
	if err != nil {
		return nil, err
	}
	h.LeftOut, h.Counts.Left = c.leftOut, c.left
	done := &Captured{LeftOut: c.leftOut, Left: c.left, Full: room.full}
	if len(c.files) == 0 {
		return done, nil
	}
	if done.Set, err = s.write(h, c, upper); err != nil {
		return nil, err
	}
	done.Expired, err = s.expire(done.Set.ID, time.Now())
	return done, err
}

// compare compares the two directories, which have these attributes of inodes.
func (c *comparer) compare(upper, base int, old, now *unix.Stat_t, n *Counts) error {
	user, overlay, err := attributes(upper)
	if err != nil {
		return err
	}
	for _, name := range overlay {
		if name == "opaque" || name == "redirect" {
			return fmt.Errorf("it is no upper directory that an overlay has made: it has the attribute overlay.%s", name)
		}
	}
	if len(user) > 0 { // an overlay does not show those of the base
		_ = c.leave(itself, "extended attributes of the directory itself")
	}
	if now.Mode&permissions != old.Mode&permissions {
		state := func(st *unix.Stat_t) *State {
			return &State{Kind: Directory, Mode: st.Mode & permissions, MTime: st.Mtim.Nano(), Inode: st.Ino, stat: st}
		}
		c.add(itself, state(old), state(now), nil, false)
	}
	if err := c.dir(upper, base, "", false); err != nil {
		return at(c.at, err)
	}
	return c.count(upper, base, n)
}

const (
	maxBytes   = 1 << 40  // bytes of a layer's contents; the upper directory has its own bound
	maxText    = 1 << 20  // bytes of a file whose lines are compared
	maxCounted = 64 << 20 // bytes of all files whose lines are compared to be counted
)

// count counts lines and bytes. It compares the lines of small files only.
func (c *comparer) count(upper, base int, n *Counts) error {
	left := int64(maxCounted)
	for _, f := range c.files {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		f.count(&left, upper, base)
		if f.New != nil {
			f.New.MTime, f.New.Inode = 0, 0
			n.Bytes += f.New.Size
		}
	}
	list := withRenames(c.files)
	n.Files, n.Dirs = CountOf(list)
	for _, change := range list {
		if change.From == nil {
			n.Added += change.Added
			n.Removed += change.Removed
		}
	}
	return nil
}

// count sets the numbers of lines. A file that cannot be compared is treated as a binary one.
func (f *File) count(left *int64, upper, base int) {
	old, now := f.Old.ifIs(Regular), f.New.ifIs(Regular)
	both := old != nil && now != nil
	if both && old.SHA256 == now.SHA256 && old.SHA256 != "" {
		return
	}
	for _, s := range []*State{old, now} {
		f.Binary = f.Binary || s != nil && (s.binary || s.SHA256 == "")
	}
	switch {
	case f.Binary:
	case both:
		size := old.Size + now.Size
		if f.Binary = old.Size > maxText || now.Size > maxText || size > *left; f.Binary {
			return
		}
		*left -= size
		before, err := readText(base, string(f.Path), old)
		after, nerr := readText(upper, string(f.Path), now)
		if f.Binary = err != nil || nerr != nil; !f.Binary {
			f.Added, f.Removed = countLines(unified(before, after))
		}
	case now != nil:
		f.Added = now.lines
	case old != nil:
		f.Removed = old.lines
	}
}

// write puts a set into the store.
func (s *Store) write(h *Header, c *comparer, upper *os.File) (set *Set, err error) {
	draft, lock, err := s.draft()
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = s.dir.Drop(draft) // what an error leaves; another brig removes it otherwise
		err = errors.Join(err, lock.Close())
	}()
	left := c.room.most + 2*maxHeader // one file may have that more than is left
	h.Layer, err = s.create(draft+"/"+layerFile, layerMedia, func(w io.Writer) error {
		out := &bounded{c.ctx, w, &left}
		_, err := layer.Pack(out, upper, &layer.PackOptions{Overlay: true, MaxFiles: maxFiles, MaxBytes: maxBytes,
			Skip: func(path string) bool { return !c.kept[path] }})
		return err
	})
	if err != nil {
		return nil, err
	}
	h.Table, err = s.create(draft+"/"+filesFile, filesMedia, func(w io.Writer) error {
		enc := json.NewEncoder(&bounded{c.ctx, w, &left})
		enc.SetEscapeHTML(false)
		for _, f := range c.files {
			if err := enc.Encode(lineOf(f)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(h, "", "  ")
	if err == nil && len(text) > maxHeader {
		err = fmt.Errorf("the command and the protected paths take more than %d bytes", maxHeader)
	}
	if err != nil {
		return nil, err
	}
	if err := s.put(draft+"/"+headerFile, text); err != nil {
		return nil, err
	}
	set = &Set{Header: *h, ID: digest(text), store: s}
	if err := s.dir.Publish(lock, draft, set.ID); err != nil {
		return nil, err
	}
	return set, nil
}
