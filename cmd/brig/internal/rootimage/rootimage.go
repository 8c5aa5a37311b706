// Package rootimage makes an image the root of a jail.
package rootimage

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"brig/cmd/brig/internal/console"
	"brig/cmd/brig/internal/daemon"
	"brig/cmd/brig/internal/wish"
	"brig/image"
	"brig/image/asroot"
	"brig/internal/store"
	"brig/internal/words"
	"brig/nsjail"
)

// Root is the image of a jail's root.
type Root struct {
	Held    *os.File // keeps the image from being removed; nil without one
	Fetched bool     // brigd was executed for it, and the forked launcher was closed before
}

// Apply makes the image of a wish its root, if it has one, and first fetches it if --pull requires that.
func Apply(w *wish.Wish, std *console.Console) (root Root, err error) {
	if w.Image.Name == "" {
		return root, nil
	}
	m, err := root.lookup(&w.Image, w.Command == "run", std)
	if err != nil {
		return root, fmt.Errorf("--image: %w", err)
	}
	if root.Held, err = m.Hold(); err != nil {
		return root, fmt.Errorf("--image: %w", err)
	}
	o := asroot.Options{Entrypoint: w.Image.Entrypoint}
	if w.From.Of("args") != "" { // words of the command line; those of a Spec are the whole command
		o.Command, w.Spec.Args = w.Spec.Args, nil
	}
	if err := asroot.Apply(&w.Spec, m, o); err != nil {
		return root, fmt.Errorf("--image: %w", err)
	}
	w.From.Set("rootfs", "--image")
	return root, nil
}

// lookup returns the image of the store. It may be fetched for a run alone.
func (r *Root) lookup(w *wish.Image, run bool, std *console.Console) (*image.Image, error) {
	images, err := image.Open(w.Store)
	if err == nil && w.Store != "" {
		err = store.Protect(images.Dir())
	}
	if err != nil {
		return nil, err
	}
	may := run && w.Pull != wish.PullNever
	if w.Pull == wish.PullAlways && may {
		if err := r.fetch(images, w.Name, std); err != nil {
			return nil, err
		}
		may = false
	}
	m, err := images.Start(w.Name)
	if !errors.Is(err, image.ErrNotFound) {
		return m, err
	}
	if !may {
		return nil, fmt.Errorf("%w; run brig image pull %s", err, words.Quote(w.Name))
	}
	if err := r.fetch(images, w.Name, std); err != nil {
		return nil, err
	}
	return images.Start(w.Name)
}

// fetch executes `brigd image pull`, which has the libraries for it, and whose messages are the caller's to read.
func (r *Root) fetch(images *image.Store, name string, std *console.Console) error {
	path, err := daemon.Find("which does that")
	if err != nil {
		return fmt.Errorf("%s cannot be fetched: %w", words.Quote(name), err)
	}
	early, err := nsjail.ForkedRunner() // closing it gives this process its processors and limits back, for brigd
	if err == nil {
		err = early.Close()
	}
	if err != nil {
		return err
	}
	r.Fetched = true
	c := exec.Command(path, "image", "pull", "--store", images.Dir(), "--", name)
	c.Stdout, c.Stderr = std.Err, std.Err
	if err := c.Run(); err != nil {
		return fmt.Errorf("brigd image pull %s failed: %w", words.Quote(name), err)
	}
	return nil
}
