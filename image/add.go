package image

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/layer"
)

// New is an image to add.
type New struct {
	Image                   // Names, Platform, Created, Source, Layers and Config
	Manifest, Configuration []byte
	MaxBytes, MaxFiles      int64 // of the tree; 0 for layer.DefaultMaxBytes and layer.DefaultMaxFiles

	// Open returns a layer uncompressed. It waits until the layer's digest has been verified.
	Open func(l Layer) (io.ReadCloser, error)
}

// Add adds an image, unless the store has it, and moves its names to it, from other images too. added reports
// whether it was added. If another process adds the same image, Add waits for it. The caller holds each layer in the
// store already, or brings it while Add waits in Open.
func (w *Writer) Add(n *New) (m *Image, added bool, err error) {
	n.Digest = DigestOf(n.Manifest)
	name := n.Digest[len(sha256Prefix):]
	work, err := w.begin(name)
	if err != nil {
		return nil, false, w.s.explain(err)
	}
	if work != nil {
		defer work.Close()
		if err = w.build(n, work); err != nil {
			return nil, false, w.s.explain(errors.Join(err, w.dir.Drop("work/"+name)))
		}
	}
	if err := w.publish(work, name, n.Names); err != nil {
		return nil, false, w.s.explain(err)
	}
	m, err = w.s.load(name, n.Names...)
	return m, work != nil, err
}

// begin makes and locks an empty directory for an image in the making. It returns nil if the store has the image.
func (w *Writer) begin(name string) (*os.File, error) {
	path := "work/" + name
	dir, err := w.claim(path, "images/"+name, unix.O_DIRECTORY)
	if dir == nil || err != nil {
		return nil, err
	}
	left, err := dir.Readdirnames(-1) // by a process that was killed
	for _, file := range left {
		err = errors.Join(err, w.dir.Drop(path+"/"+file))
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// claim makes, or finds, and holds a file or directory in the making, whose name will be done when it is complete. It
// waits for another process that makes the same one, and returns nil if done exists.
func (w *Writer) claim(path, done string, flags int) (*os.File, error) {
	for {
		if _, err := w.dir.Stat(done); !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if flags&unix.O_DIRECTORY != 0 {
			if err := w.dir.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, err
			}
		}
		f, err := w.dir.Hold(path, flags, unix.LOCK_EX)
		if errors.Is(err, fs.ErrNotExist) { // the process that had the lock has renamed or removed it
			continue
		}
		if err != nil {
			return nil, err
		}
		if _, err = w.dir.Stat(done); errors.Is(err, fs.ErrNotExist) {
			return f, nil
		}
		if err = errors.Join(err, w.dir.Drop(path), f.Close()); err != nil { // done has appeared before this one was made
			return nil, err
		}
	}
}

// build makes the tree and the files of an image in its directory, and brings them to the disk by syncfs(2): fsync(2)
// of each of 50,000 files takes minutes.
func (w *Writer) build(n *New, work *os.File) error {
	tree := filepath.Join(work.Name(), "tree")
	if err := errors.Join(os.Mkdir(tree, 0o755), os.Chmod(tree, 0o755)); err != nil { // whatever the umask is
		return err
	}
	dir, err := os.Open(tree)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unpack(n, dir); err != nil {
		return err
	}
	if name := n.Config.WorkingDir; name != "" {
		if err := makeWorkdir(dir, name); err != nil {
			n.LeftOut = append(n.LeftOut, fmt.Sprintf("WorkingDir %s: %v", words.Quote(words.Short(name, words.MaxShown)), err))
		}
	}
	if err := makePoints(dir); err != nil {
		return err
	}
	if err := syncfs(dir); err != nil { // a file that others share is whole, even if the machine stops now
		return err
	}
	if n.Files, n.Size, err = w.share(tree, work); err != nil {
		return err
	}
	n.Added = time.Now().UTC().Truncate(time.Second)
	kept := n.Image
	kept.Names = nil // those are links
	text, err := json.MarshalIndent(&kept, "", "\t")
	files := map[string][]byte{"image.json": text, "manifest.json": n.Manifest, "config.json": n.Configuration}
	if start, ok := n.Config.pack(); ok {
		files[startFile] = []byte(start)
	}
	for file, text := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(work.Name(), file), text, 0o644)
		}
	}
	if err == nil {
		err = syncfs(dir)
	}
	return err
}

func syncfs(f *os.File) error { return os.NewSyscallError("syncfs", sys.Control(f, unix.Syncfs)) }

// maxTail bounds what may follow the archives in the layers of an image, in bytes: tar(1) pads to a record, which -b
// makes bigger.
const maxTail = 64 << 20

// unpack applies all layers, and verifies the digest of each, uncompressed, against the configuration.
func unpack(n *New, dir *os.File) error {
	o, tail := &layer.Options{MaxBytes: n.MaxBytes, MaxFiles: n.MaxFiles, Used: &layer.Stats{}}, int64(maxTail)
	for i, l := range n.Layers {
		stats, err := unpackOne(n, l, dir, o, &tail)
		if err != nil {
			return fmt.Errorf("layer %d of %d, %s: %w", i+1, len(n.Layers), l.Digest, err)
		}
		o.Used.Files += stats.Files
		o.Used.Bytes += stats.Bytes
		if s := stats.String(); s != "" {
			n.LeftOut = append(n.LeftOut, fmt.Sprintf("layer %d: %s", i+1, s))
		}
	}
	return nil
}

func unpackOne(n *New, l Layer, dir *os.File, o *layer.Options, tail *int64) (*layer.Stats, error) {
	r, err := n.Open(l)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	sum := sha256.New()
	in := io.TeeReader(r, sum)
	stats, err := layer.Unpack(in, dir, o)
	if err != nil {
		return nil, err
	}
	after, err := io.Copy(io.Discard, io.LimitReader(in, *tail+1))
	if err != nil {
		return nil, err
	}
	if *tail -= after; *tail < 0 {
		return nil, fmt.Errorf("more than %d MiB follow the archives of the layers", maxTail>>20)
	}
	if is := sha256Prefix + hex.EncodeToString(sum.Sum(nil)); is != l.DiffID {
		return nil, &digestError{"layer, uncompressed,", is, l.DiffID}
	}
	return stats, nil
}

// makeWorkdir makes the working directory of an image's command, and those above it, if no layer has them, as Docker
// does when a container starts. Symbolic links are followed inside the tree only.
func makeWorkdir(tree *os.File, name string) error {
	name = path.Clean("/" + name)
	if len(name) > maxWorkdir || strings.Count(name, "/") > maxLevels {
		return fmt.Errorf("it has more than %d bytes or %d levels", maxWorkdir, maxLevels)
	}
	return sys.Control(tree, func(root int) error {
		at, err := openIn(root, "/")
		for end := 1; err == nil && end < len(name); end++ {
			part, _, _ := strings.Cut(name[end:], "/")
			if err = unix.Mkdirat(at, part, 0o755); err == nil {
				err = unix.Fchmodat(at, part, 0o755, 0) // mkdirat(2) has applied the umask
			}
			unix.Close(at)
			if end += len(part); err == nil || err == unix.EEXIST {
				at, err = openIn(root, name[:end])
			}
		}
		if err == nil {
			unix.Close(at)
		}
		return err
	})
}

// makePoints makes the mount points of a jail that no layer has. Otherwise each jail would need an overlay for them.
func makePoints(tree *os.File) error {
	for _, name := range []string{"dev", "proc", "tmp", "work"} {
		if err := makeWorkdir(tree, name); err != nil && !elsewhere(err) {
			return fmt.Errorf("make /%s: %w", name, err)
		}
	}
	return sys.Control(tree, func(root int) error {
		etc, err := openIn(root, "etc")
		if err != nil && elsewhere(err) {
			return nil
		}
		if err == nil {
			err = unix.Mknodat(etc, "hosts", unix.S_IFREG|0o644, 0)
			unix.Close(etc)
		}
		if err == unix.EEXIST {
			return nil
		}
		return os.NewSyscallError("mknodat etc/hosts", err)
	})
}

// elsewhere reports whether err means that an image has no directory where one was expected. The jail handles that.
func elsewhere(err error) bool { return err == unix.ENOTDIR || err == unix.ELOOP || err == unix.ENOENT }

const (
	maxWorkdir = 4095 // bytes: PATH_MAX without its NUL
	maxLevels  = 256  // as of the names in a layer: share holds a descriptor for each level
)

// openIn opens a directory of a tree, whose root is that of the lookup.
func openIn(root int, name string) (int, error) {
	return sys.OpenInRoot(root, name, unix.O_PATH|unix.O_DIRECTORY)
}

// publish renames a finished image to its place and sets its names. The lock on names keeps Remove away in between.
func (e *editor) publish(work *os.File, name string, names []string) error {
	hold, err := e.locked("names.lock", unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer hold.Close()
	if work != nil {
		if err = e.dir.Rename("work/"+name, "images/"+name); err == nil {
			err = errors.Join(sys.Flock(work, unix.LOCK_UN), e.dir.Sync("images")) // jails may hold it now
		}
	} else if _, err = e.dir.Stat("images/" + name); err != nil {
		err = fmt.Errorf("the image %s has been removed meanwhile", sha256Prefix+name)
	}
	const temp = "work/name" // names.lock makes it ours
	for _, text := range names {
		n, perr := ParseName(text)
		if err = cmp.Or(err, perr, e.dir.Drop(temp)); err == nil {
			err = e.dir.Symlink("../images/"+name, temp)
		}
		if err == nil {
			err = e.dir.Rename(temp, "names/"+n.file())
		}
	}
	return cmp.Or(err, e.dir.Sync("names"))
}
