package images

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"brig/image"
	"brig/internal/sys"
	"brig/internal/words"
)

// missing adds the remedy to the error of an image that is not there.
func missing(err error) error {
	if errors.Is(err, image.ErrNotFound) {
		return fmt.Errorf("%w; brigd image list shows what there is, pull and import add to it", err)
	}
	return err
}

// hold finds an image and keeps it from being removed until hold is closed.
func (c *command) hold(name string) (m *image.Image, hold io.Closer, err error) {
	if m, err = c.store.Lookup(name); err == nil {
		hold, err = m.Hold()
	}
	return m, hold, missing(err)
}

// export writes an image to an archive, which replaces an older file only when it is whole.
func (c *command) export(args []string) error {
	m, hold, err := c.hold(args[0])
	if err != nil {
		return err
	}
	defer hold.Close()
	kind, file, _ := strings.Cut(args[1], ":")
	write := map[string]func(*packer, *image.Image) error{"oci-archive": (*packer).oci,
		"docker-archive": (*packer).docker}[kind]
	if write == nil || file == "" {
		return fmt.Errorf("%s: write oci-archive:FILE or docker-archive:FILE", words.Quote(args[1]))
	}
	if file == "-" {
		if f, ok := c.out.(*os.File); ok && sys.IsTerminal(f) {
			return errors.New("standard output is a terminal; redirect it, or name a file")
		}
		return write(&packer{tar.NewWriter(c.out), c}, m)
	}
	if file, err = sys.Abs(file); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".brig-export-")
	if err != nil {
		return err
	}
	defer f.Close()
	if err = write(&packer{tar.NewWriter(f), c}, m); err == nil {
		err = f.Sync() // its mode is 0600, as an image may hold secrets
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// texts returns the manifest and the configuration of an image.
func texts(m *image.Image) (manifest, config []byte, err error) {
	dir := filepath.Dir(m.Tree)
	manifest, err = os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err == nil {
		config, err = os.ReadFile(filepath.Join(dir, "config.json"))
	}
	return manifest, config, err
}

// packer writes an archive of an image.
type packer struct {
	*tar.Writer
	c *command
}

func (p *packer) file(name string, size int64, r io.Reader) error {
	err := p.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, Format: tar.FormatPAX})
	if err == nil {
		_, err = io.Copy(p, r)
	}
	return err
}

func (p *packer) text(name string, text []byte) error {
	return p.file(name, int64(len(text)), bytes.NewReader(text))
}

// layers calls write for each layer, once for those with the same path in the archive.
func (p *packer) layers(m *image.Image, path func(image.Layer) string, write func(image.Layer) error) error {
	seen := map[string]bool{}
	for _, l := range m.Layers {
		if seen[path(l)] {
			continue
		}
		if err := write(l); err != nil {
			return err
		}
		seen[path(l)] = true
	}
	return nil
}

// oci writes an OCI layout: the manifest and the layers as they came.
func (p *packer) oci(m *image.Image) error {
	manifest, config, err := texts(m)
	if err != nil {
		return err
	}
	digest, err := v1.NewHash(m.Digest)
	if err != nil {
		return err
	}
	d := v1.Descriptor{MediaType: types.OCIManifestSchema1, Digest: digest, Size: int64(len(manifest))}
	if parsed, err := v1.ParseManifest(bytes.NewReader(manifest)); err == nil && parsed.MediaType != "" {
		d.MediaType = parsed.MediaType
	}
	if len(m.Names) > 0 {
		d.Annotations = map[string]string{refName: m.Names[0]}
	}
	index, err := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex,
		Manifests: []v1.Descriptor{d}})
	if err != nil {
		return err
	}
	err = errors.Join(p.text("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)), p.text("index.json", index),
		p.text(blobPath(m.Digest), manifest), p.text(blobPath(image.DigestOf(config)), config))
	if err != nil {
		return err
	}
	err = p.layers(m, func(l image.Layer) string { return l.Digest }, func(l image.Layer) error {
		f, err := p.c.store.Blob(l.Digest)
		if err != nil {
			return err
		}
		defer f.Close()
		return p.file(blobPath(l.Digest), l.Size, f)
	})
	return errors.Join(err, p.Close())
}

// docker writes an archive like docker save's: its layers are not compressed.
func (p *packer) docker(m *image.Image) error {
	_, config, err := texts(m)
	if err != nil {
		return err
	}
	e := saved{Config: strings.TrimPrefix(image.DigestOf(config), "sha256:") + ".json", RepoTags: []string{}}
	for _, text := range m.Names {
		if n, err := image.ParseName(text); err == nil && n.Tag != "" {
			e.RepoTags = append(e.RepoTags, n.Familiar())
		}
	}
	for _, l := range m.Layers {
		e.Layers = append(e.Layers, layerPath(l))
	}
	list, err := json.Marshal([]saved{e})
	if err == nil {
		err = p.layers(m, layerPath, p.plain)
	}
	if err != nil {
		return err
	}
	return errors.Join(p.text(e.Config, config), p.text("manifest.json", list), p.Close())
}

func layerPath(l image.Layer) string { return strings.TrimPrefix(l.DiffID, "sha256:") + "/layer.tar" }

// plain writes a layer without compression. It reads it twice: the header has the size.
func (p *packer) plain(l image.Layer) error {
	r, err := p.c.content(l)
	if err != nil {
		return err
	}
	size, err := io.Copy(io.Discard, r)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	if r, err = p.c.content(l); err != nil {
		return err
	}
	defer r.Close()
	return p.file(layerPath(l), size, r)
}
