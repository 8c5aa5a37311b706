package keep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"brig/cmd/brig/internal/daemon"
	"brig/cmd/brig/internal/report"
	"brig/image"
	"brig/internal/words"
	"brig/layer"
	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// commit makes an image from the changes of the run in its root, unless the command failed or met a limit.
func (k *Keeper) commit(_ context.Context, r *report.Report, c *nsjail.Change) (err error) {
	name := k.wish.Image.Commit
	switch {
	case name == "": // the caller's Spec has rootfs.keep
		return nil
	case r.Status != nsjail.StatusOK:
		k.std.Say("%s was not made, since the command failed (--commit)", name)
		return nil
	case len(r.LimitsHit) > 0:
		k.std.Say("%s was not made, since the command met a limit: %s (--commit)", name, strings.Join(r.LimitsHit, ", "))
		return nil
	}
	stats, digest, err := k.pack(c.Upper)
	if err != nil {
		return err
	}
	r.Commit = &report.Committed{Name: name, Digest: digest, Bytes: stats.Bytes}
	if left := stats.String(); left != "" {
		k.say("not in %s: %s", name, left)
	}
	k.say("%s is %s: %s and a layer of %s", name, digest, k.wish.Image.Name, words.Size(stats.Bytes))
	return nil
}

// pack has brigd put a layer on top of the image of the run, and returns the digest of the new one. brigd makes no
// image unless a line follows the layer, since the end of the pipe alone may mean that brig was killed.
func (k *Keeper) pack(upper *os.File) (stats *layer.Stats, digest string, err error) {
	path, err := daemon.Find("which makes images")
	if err != nil {
		return nil, "", err
	}
	store, err := image.Open(k.wish.Image.Store)
	if err != nil {
		return nil, "", err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	defer w.Close()
	base := k.wish.Spec.Rootfs.Image
	c := exec.Command(path, "image", "commit", "--store", store.Dir(), "--layer-fd", "3", "--",
		base[strings.LastIndexByte(base, '@')+1:], k.wish.Image.Commit)
	var out bytes.Buffer
	c.Stdout, c.Stderr, c.ExtraFiles = &out, k.std.Err, []*os.File{r}
	whole, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, "", err
	}
	r.Close() // otherwise Pack could wait for a reader forever
	stats, err = layer.Pack(w, upper, &layer.PackOptions{Overlay: true, Skip: jailsOwn(&k.wish.Spec)})
	if err == nil {
		_, _ = whole.Write([]byte("end\n")) // if brigd has ended, Wait returns why
	} else {
		_ = c.Process.Kill() // it would complain of the layer, too
	}
	w.Close()
	if ended := c.Wait(); err == nil || errors.Is(err, unix.EPIPE) {
		if err = ended; err != nil {
			err = fmt.Errorf("brigd image commit failed: %w", err)
		}
	}
	_, digest, _ = strings.Cut(strings.TrimSpace(out.String()), " ")
	return stats, digest, err
}

// jailsOwn returns a function that recognizes the paths that the jail itself makes: mount points, and files that docker
// does not commit either.
func jailsOwn(s *nsjail.Spec) func(name string) bool {
	names := []string{"dev", "proc", "tmp", "work", "etc/hosts", "etc/resolv.conf"}
	for i := range s.Mounts {
		names = append(names, strings.Trim(s.Mounts[i].Target, "/"))
	}
	return func(name string) bool { return slices.Contains(names, name) }
}
