package wish

import (
	"errors"
	"fmt"
	"slices"

	"brig/image"
	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
)

// Image is the image that is the root, and the one that a run makes of it.
type Image struct {
	Name       string  // --image or the Spec's, or ""
	Store      string  // --image-store, or "" for the caller's own
	Pull       string  // --pull, or ""
	Entrypoint *string // --entrypoint, or nil
	Commit     string  // --commit, or ""
}

// The words of --pull.
const (
	PullAlways = "always"
	PullNever  = "never"
)

var pullWords = []string{PullNever, "missing", PullAlways}

func (m *Image) flags() []cli.Flag {
	return []cli.Flag{
		{Name: "image", Args: "NAME", Path: "image", Set: m.setImage,
			Help: "use an image as the root, as docker names it: python:3.12-slim; it gives the command, the variables, the " +
				"directory and the user that no flag gives"},
		{Name: "image-store", Args: "DIR", Files: true, Path: "image_store", Set: cli.Text(&m.Store, "./images"),
			Help: "look for the image in DIR instead of /var/lib/brig/images for root, or brig/images in $XDG_DATA_HOME"},
		{Name: "pull", Args: "WHEN", Path: "pull", Words: pullWords, Set: cli.Text(&m.Pull, "missing"),
			Help: "fetch the image with brigd image pull: never, missing (the default) or always"},
		{Name: "entrypoint", Args: "COMMAND", Path: "entrypoint", Set: m.setEntrypoint,
			Help: "run this instead of the image's entrypoint and command, with the words after the flags; '' is none"},
	}
}

func (m *Image) setImage(v []string) error {
	if _, err := image.ParseName(v[0]); err != nil {
		return err
	}
	m.Name = v[0]
	return nil
}

func (m *Image) setEntrypoint(v []string) error {
	m.Entrypoint = &v[0]
	return nil
}

// check refuses flags of an image that contradict other flags or would have no effect.
func (m *Image) check(s *nsjail.Spec, from *Origin) error {
	if m.Name == "" {
		m.Name = s.Rootfs.Image
	}
	switch {
	case m.Pull != "" && !slices.Contains(pullWords, m.Pull):
		return fmt.Errorf("--pull: %s is not when to fetch an image; %s", words.Quote(m.Pull),
			words.DidYouMean(m.Pull, pullWords))
	case m.Name == "" && m.Entrypoint != nil:
		return errors.New("--entrypoint: there is no image; add --image NAME, or write the command after the flags")
	case m.Name == "" && m.Pull != "":
		return errors.New("--pull: there is no image to fetch; add --image NAME")
	case m.Name == "" && m.Store != "":
		return errors.New("--image-store: there is no image to look for; add --image NAME")
	case m.Name != "" && from.Of("rootfs") != "":
		return errors.New("--image: the root is also that of --rootfs; leave one out")
	}
	return nil
}

// checkCommit refuses --commit without an image or a writable root, which it keeps.
func (m *Image) checkCommit(root *nsjail.Rootfs) error {
	if m.Commit == "" {
		return nil
	}
	n, err := image.ParseName(m.Commit)
	switch {
	case err != nil:
		return fmt.Errorf("--commit: %w", err)
	case n.Digest != "":
		return errors.New("--commit: a digest is what an image gets, not what it is given; write a name, as in app:1")
	case m.Name == "":
		return errors.New("--commit: there is no image below the new one; add --image NAME (brig image import dir:DIR " +
			"NAME makes one of a directory)")
	case !root.Writable:
		return errors.New("--commit: the root cannot change; add --rootfs-writable")
	}
	root.Keep = true
	return nil
}
