package main

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"brig/cmd/brig/internal/console"
	"brig/image"
	"brig/image/asroot"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
)

// The words of --pull.
const (
	pullAlways = "always"
	pullNever  = "never"
)

var pullWords = []string{pullNever, "missing", pullAlways}

// checkImage refuses flags of an image that contradict other flags or would have no effect.
func (inv *invocation) checkImage() error {
	if inv.image == "" {
		inv.image = inv.spec.Rootfs.Image
	}
	switch {
	case inv.pull != "" && !slices.Contains(pullWords, inv.pull):
		return fmt.Errorf("--pull: %s is not when to fetch an image; %s", words.Quote(inv.pull),
			words.DidYouMean(inv.pull, pullWords))
	case inv.image == "" && inv.entrypoint != nil:
		return errors.New("--entrypoint: there is no image; add --image NAME, or write the command after the flags")
	case inv.image == "" && inv.pull != "":
		return errors.New("--pull: there is no image to fetch; add --image NAME")
	case inv.image == "" && inv.imageStore != "":
		return errors.New("--image-store: there is no image to look for; add --image NAME")
	case inv.image != "" && inv.origin["rootfs"] != "":
		return errors.New("--image: the root is also that of --rootfs; leave one out")
	}
	return nil
}

// findImage makes the image the root, and first fetches it if --pull requires that.
func (inv *invocation) findImage(std *console.Console) error {
	if inv.image == "" {
		return nil
	}
	m, err := inv.lookup(std)
	if err != nil {
		return fmt.Errorf("--image: %w", err)
	}
	if inv.held, err = m.Hold(); err != nil {
		return fmt.Errorf("--image: %w", err)
	}
	o := asroot.Options{Entrypoint: inv.entrypoint}
	if inv.origin["args"] != "" { // words of the command line; those of a Spec are the whole command
		o.Command, inv.spec.Args = inv.spec.Args, nil
	}
	if err := asroot.Apply(&inv.spec, m, o); err != nil {
		return fmt.Errorf("--image: %w", err)
	}
	inv.origin["rootfs"] = "--image"
	return nil
}

// lookup returns the image of the store.
func (inv *invocation) lookup(std *console.Console) (*image.Image, error) {
	store, err := image.Open(inv.imageStore)
	if err == nil && inv.imageStore != "" {
		err = sys.AddStore(store.Dir())
	}
	if err != nil {
		return nil, err
	}
	may := inv.command == "run" && inv.pull != pullNever
	if inv.pull == pullAlways && may {
		if err := inv.fetch(store, std); err != nil {
			return nil, err
		}
		may = false
	}
	m, err := store.Start(inv.image)
	if !errors.Is(err, image.ErrNotFound) {
		return m, err
	}
	if !may {
		return nil, fmt.Errorf("%w; run brig image pull %s", err, words.Quote(inv.image))
	}
	if err := inv.fetch(store, std); err != nil {
		return nil, err
	}
	return store.Start(inv.image)
}

// fetch executes `brigd image pull`, which has the libraries for it, and whose messages are the caller's to read.
func (inv *invocation) fetch(store *image.Store, std *console.Console) error {
	path, err := findDaemon("which does that")
	if err != nil {
		return fmt.Errorf("%s cannot be fetched: %w", words.Quote(inv.image), err)
	}
	early, err := nsjail.ForkedRunner() // closing it gives this process its processors and limits back, for brigd
	if err == nil {
		err = early.Close()
	}
	if err != nil {
		return err
	}
	inv.fetched = true
	c := exec.Command(path, "image", "pull", "--store", store.Dir(), "--", inv.image)
	c.Stdout, c.Stderr = std.Err, std.Err
	if err := c.Run(); err != nil {
		return fmt.Errorf("brigd image pull %s failed: %w", words.Quote(inv.image), err)
	}
	return nil
}
