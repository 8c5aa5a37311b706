package workspace

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"brig/brigd/workspace/inotify"
	"brig/internal/sys"
)

const (
	maxWatches     = 8     // of one sandbox at a time
	maxWatchedDirs = 1000  // of one watch
	maxFresh       = 10000 // entries of new directories that are told for one read
)

// Notice is something that has happened to a file of a sandbox, or to a watch of its files.
type Notice struct {
	// Type is create, write, remove, rename or chmod. The others are about the watch: it is "watching" from now on; there
	// was an "overflow", after which files should be looked at again; a directory is "unwatched"; it is at its "end".
	Type string `json:"type"`
	// Path is where the jail sees the file. A file that is put, or moved there from where nothing is watched, is created.
	Path    string `json:"path,omitempty"`
	RawPath []byte `json:"path_base64,omitempty"`
	// Old is the path before a rename.
	Old    string `json:"old_path,omitempty"`
	RawOld []byte `json:"old_path_base64,omitempty"`
	// Dir is true if the file is a directory.
	Dir bool `json:"dir,omitempty"`
	// Note is the reason of an overflow, of what is unwatched, and of the end.
	Note string `json:"note,omitempty"`
}

func notice(kind, path string, dir bool) Notice {
	n := Notice{Type: kind, Path: printable(path), Dir: dir}
	if !utf8.ValidString(path) {
		n.RawPath = []byte(path)
	}
	return n
}

// Watches tell what happens to the files of a Tree.
type Watches struct {
	tree   *Tree
	places chan struct{} // has an element for each watch
}

func newWatches(t *Tree) *Watches { return &Watches{t, make(chan struct{}, maxWatches)} }

// Watch calls tell with what happens in a directory, by default /work, and if recursive is set in those below it, until
// tell returns an error, ctx ends, or the Tree is closed. The first notice is that it is watching. New directories are
// watched too, and what is already in one is told as created, perhaps twice. A payload may change the files faster than
// they are told, so a path may be another file's by then. Only the start of a watch is a use of the sandbox.
func (s *Watches) Watch(ctx context.Context, path string, recursive bool, tell func([]Notice) error) error {
	p, err := s.tree.begin(cmp.Or(path, "/work"), parse)
	if err != nil {
		return err
	}
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	default:
		return refuse(CodeWatches, "The sandbox has %d watches, as many as it may have", maxWatches)
	}
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if errors.Is(err, unix.EMFILE) {
		return refuse(CodeWatches, "There are as many watches as this machine allows (fs.inotify.max_user_instances)")
	} else if err != nil {
		return explain("watch", p, err)
	}
	f, err := s.tree.hold(fd, "inotify")
	if err != nil {
		return err
	}
	defer f.Close()
	defer context.AfterFunc(ctx, func() { _ = f.File.Close() })() // which ends the wait for events
	w := &watch{t: s.tree, f: f, top: p, recursive: recursive, paths: inotify.Paths{}}
	if err := w.begin(); errors.Is(err, unix.ENOSPC) {
		return refuse(CodeWatches, "%s cannot be watched: %s", show(p.String()), reason(err))
	} else if err != nil {
		return explain("watch", p, err)
	}
	err = w.run(tell)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.tree.isClosed():
		return tell([]Notice{{Type: "end", Note: "the sandbox has ended"}})
	}
	return err
}

// watch is a watch in progress.
type watch struct {
	t         *Tree
	f         *openFile // of inotify(7)
	top       place
	recursive bool
	paths     inotify.Paths
	told      []Notice // for the next call of tell
	fresh     int      // entries of new directories that may still be told
	over      bool     // the directory is gone, or the kernel has ended the watch
}

// begin watches the directory, and those below it.
func (w *watch) begin() error {
	if err := w.add(w.top, w.t.newBudget("watch"), nil); err != nil {
		return err
	}
	w.told = append([]Notice{notice("watching", w.top.String(), true)}, w.told...)
	return nil
}

// run tells the events until there is an error.
func (w *watch) run(tell func([]Notice) error) error {
	buf := make([]byte, 64<<10)
	var half []inotify.Raw // the first half of a rename, whose second one is still to be read
	for {
		if len(w.told) > 0 {
			if err := tell(w.told); err != nil {
				return err
			}
			w.told = nil
		}
		if w.over {
			return nil
		}
		n, err := w.read(buf, len(half) > 0)
		if err != nil {
			return err
		}
		list := append(half, inotify.Parse(buf[:n])...)
		if half = nil; n > 0 && list[len(list)-1].Is(unix.IN_MOVED_FROM) {
			half = []inotify.Raw{list[len(list)-1]}
			list = list[:len(list)-1]
		}
		begin := time.Now()
		w.fresh = maxFresh
		w.handle(list)
		time.Sleep(min(time.Since(begin), maxPause)) // a payload that makes much work keeps half a processor busy
	}
}

// maxPause is how long a watch rests at most after the work for some events.
const maxPause = 100 * time.Millisecond

// halfTime is how long the second half of a rename may take.
const halfTime = 20 * time.Millisecond

// read waits for events. For the second half of a rename it waits shortly, and then returns none.
func (w *watch) read(buf []byte, half bool) (int, error) {
	var until time.Time
	if half {
		until = time.Now().Add(halfTime)
	}
	if err := w.f.SetReadDeadline(until); err != nil {
		return 0, err
	}
	n, err := w.f.Read(buf)
	if half && errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, nil
	}
	return n, err
}

// subscribe makes the kernel tell what happens in a directory that is open: inotify_add_watch(2) of /proc/self/fd/N.
func (w *watch) subscribe(dir int) (id int, err error) {
	err = sys.Control(w.f.File, func(fd int) error {
		id, err = unix.InotifyAddWatch(fd, "/proc/self/fd/"+strconv.Itoa(dir), inotify.Mask)
		return err
	})
	return id, err
}

// release removes watches. The kernel may have removed one before.
func (w *watch) release(ids []int) {
	_ = sys.Control(w.f.File, func(fd int) error {
		for _, id := range ids {
			_, _ = unix.InotifyRmWatch(fd, uint32(id))
		}
		return nil
	})
}
