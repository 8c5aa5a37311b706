package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"brig/image"
	"brig/internal/words"
)

const (
	parallel = 3 // layers that are received at once
	attempts = 5 // for one layer; each continues where the last one ended
)

// pull brings images from registries.
func (c *command) pull(names []string) (err error) {
	list := make([]image.Name, len(names))
	for i, text := range names {
		if list[i], err = image.ParseName(text); err != nil {
			return err
		}
	}
	in, err := c.intake()
	if err != nil {
		return err
	}
	for _, n := range list {
		o, err := fromRegistry(n, c.insecure)
		if err == nil {
			err = c.bring(in, o, n.String())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", n.Familiar(), err)
		}
	}
	return nil
}

// importing makes an image of a source.
func (c *command) importing(args []string) error {
	kind, where, ok := strings.Cut(args[0], ":")
	if !ok || where == "" {
		return fmt.Errorf("%s is no source; %s", words.Quote(args[0]), sourceOf(args[0]))
	}
	name := append(args, "")[1]
	if _, err := image.ParseName(name); err != nil && name != "" { // before the work
		return err
	}
	in, err := c.intake()
	if err != nil {
		return err
	}
	o, err := c.origin(in, kind, where)
	if err == nil {
		o.source = args[0]
		err = c.bring(in, o, name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", words.Quote(args[0]), err)
	}
	return nil
}

// sourceOf returns what to write for a path, by what is there.
func sourceOf(path string) string {
	path = strings.TrimSuffix(path, ":")
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return "write oci:DIR, oci-archive:FILE, docker-archive:FILE, tar:FILE or dir:DIR"
	case !st.IsDir():
		return "write tar:" + words.Printable(path) + " for the files of a root, or docker-archive: or oci-archive: " +
			"before it for what docker save or skopeo has written"
	}
	if _, err := os.Stat(filepath.Join(path, "oci-layout")); err == nil {
		return "write oci:" + words.Printable(path)
	}
	return "write dir:" + words.Printable(path)
}

// origin opens a source.
func (c *command) origin(in *intake, kind, where string) (o *origin, err error) {
	var set files
	file, ref := split(where)
	switch kind {
	case "oci":
		set, err = openDirectory(file)
	case "oci-archive", "docker-archive":
		set, err = c.openArchive(file, in)
	case "tar", "dir":
		l, err := c.packed(in, kind, where)
		if err != nil {
			return nil, err
		}
		config := &v1.ConfigFile{OS: c.want.OS, Architecture: c.want.Architecture, Variant: c.want.Variant}
		return c.fromLayers(config, []image.Layer{l})
	default:
		return nil, fmt.Errorf("%s is no kind of source; %s", words.Quote(kind), words.DidYouMean(kind,
			[]string{"oci", "oci-archive", "docker-archive", "tar", "dir"}))
	}
	if err != nil {
		return nil, err
	}
	if kind == "docker-archive" {
		o, err = fromDocker(set, in, ref)
	} else {
		o, err = fromLayout(set, ref)
	}
	if err != nil {
		set.Close() // nothing was written that an error could lose
		return nil, err
	}
	o.close = func() { set.Close() }
	return o, nil
}

// packed stores the layer of a tar or dir source.
func (c *command) packed(in *intake, kind, where string) (l image.Layer, err error) {
	if kind == "dir" {
		l, left, err := in.dir(where, c.maxFiles)
		if left != "" {
			c.note("%s: left out: %s", words.Quote(kind+":"+where), left)
		}
		return l, err
	}
	f, err := c.input(where)
	if err == nil {
		l, err = in.stream(f)
	}
	if err == nil && l.DiffID == image.DigestOf(nil) {
		err = errors.New("it is empty; did the program that should write it fail?")
	}
	return l, err
}

// bring adds an image to the store under a name, or under its own, prints its digest, and closes the origin.
func (c *command) bring(in *intake, o *origin, name string) error {
	defer o.close()
	if name = cmp.Or(name, o.name); name == "" {
		return errors.New("it does not say its name; write brigd image import SOURCE NAME")
	}
	n, err := image.ParseName(name)
	if err != nil {
		return err
	}
	manifest, err := o.manifest(o.top, c.want, 0)
	if err != nil {
		return err
	}
	fresh, err := o.describe(manifest, c.want, c.maxBytes)
	if err != nil {
		return err
	}
	fresh.Names, fresh.MaxBytes, fresh.MaxFiles = []string{n.String()}, c.maxBytes, c.maxFiles
	show := newProgress(c.err, n.Familiar(), fresh.Layers, c.quiet || o.fetch == nil)
	var arrivals map[string]*arrival
	wait := func() error { return nil }
	if _, err := c.store.Lookup(image.DigestOf(manifest)); errors.Is(err, image.ErrNotFound) && o.fetch != nil {
		arrivals, wait = receiveAll(in.Writer, o, fresh.Layers, show)
	}
	fresh.Open = func(l image.Layer) (io.ReadCloser, error) {
		if a := arrivals[l.Digest]; a != nil {
			if <-a.done; a.err != nil {
				return nil, a.err
			}
		}
		show.unpacking(l.Digest)
		return c.content(l)
	}
	m, added, err := in.Add(fresh)
	if err != nil {
		o.close() // what is being received now fails, too
	}
	err = cmp.Or(err, wait())
	if show.end(); err != nil {
		return err
	}
	for _, s := range m.LeftOut {
		if added && !slices.Contains(o.told, s) {
			c.note("%s: left out: %s", n.Familiar(), s)
		}
	}
	return c.print("%s %s\n", n.Familiar(), m.Digest)
}

// content opens a layer of the store, uncompressed.
func (c *command) content(l image.Layer) (io.ReadCloser, error) {
	f, err := c.store.Blob(l.Digest)
	if err != nil {
		return nil, err
	}
	r, err := uncompressed(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// arrival is a layer that is being received.
type arrival struct {
	image.Layer
	done chan struct{} // closed when err is known
	err  error
}

// receiveAll receives all layers, each digest once, and the lowest first, since it is unpacked first. wait returns the
// first error when all have ended.
func receiveAll(w *image.Writer, o *origin, list []image.Layer, show *progress) (all map[string]*arrival,
	wait func() error) {
	all = map[string]*arrival{}
	queue := make(chan *arrival, len(list))
	for _, l := range list {
		if all[l.Digest] == nil {
			all[l.Digest] = &arrival{Layer: l, done: make(chan struct{})}
			queue <- all[l.Digest]
		}
	}
	close(queue)
	var group sync.WaitGroup
	for range parallel {
		group.Go(func() {
			for a := range queue {
				a.err = a.receive(w, o, show)
				close(a.done)
			}
		})
	}
	return all, func() error {
		group.Wait()
		for _, l := range list {
			if err := all[l.Digest].err; err != nil {
				return err
			}
		}
		return nil
	}
}

// receive receives a layer. If the connection breaks, it continues from there.
func (a *arrival) receive(w *image.Writer, o *origin, show *progress) error {
	fetch := func(from int64) (io.ReadCloser, int64, error) { return o.fetch(a.Digest, from) }
	for try := 1; ; try++ {
		err := w.Receive(a.Digest, a.Size, fetch, func(have int64) { show.have(a.Digest, have) })
		var broken net.Error
		again := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, unix.ECONNRESET) || errors.As(err, &broken)
		if !again || try == attempts || errors.Is(err, context.Canceled) || errors.Is(err, os.ErrClosed) {
			return err
		}
		time.Sleep(time.Duration(try) * 200 * time.Millisecond)
	}
}
