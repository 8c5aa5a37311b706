package images

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"brig/image"
	"brig/internal/words"
)

// refName is the annotation of OCI layouts with an image's name.
const refName = "org.opencontainers.image.ref.name"

// fromLayout finds an image in an OCI layout: by its name there, or the only one for a platform.
func fromLayout(set files, ref string) (*origin, error) {
	text, err := readSmallFile(set, "index.json")
	if err != nil {
		return nil, err
	}
	list, err := v1.ParseIndexManifest(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("index.json: %w", err)
	}
	o := &origin{top: text,
		get: func(d v1.Descriptor) ([]byte, error) { return readSmallFile(set, blobPath(d.Digest.String())) },
		fetch: func(digest string, from int64) (io.ReadCloser, int64, error) {
			p, err := set.open(blobPath(digest))
			if err != nil {
				return nil, 0, err
			}
			_, err = p.Seek(from, io.SeekStart)
			return p, from, err
		}}
	if ref == "" && len(list.Manifests) != 1 {
		return o, nil
	}
	var names []string
	for _, d := range list.Manifests {
		if o.name = d.Annotations[refName]; ref == "" || o.name == ref {
			o.top, err = o.read(d)
			return o, err
		}
		names = append(names, words.Quote(o.name))
	}
	return nil, fmt.Errorf("it has no image %s; it has %s", words.Quote(ref), some(names))
}

// blobPath returns where a layout has a blob. The digest has been checked.
func blobPath(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }

// readSmallFile reads a file of at most maxManifest bytes.
func readSmallFile(set files, name string) ([]byte, error) {
	r, err := set.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.Size() > maxManifest {
		return nil, fmt.Errorf("its file %s has %d bytes, and may have %d", words.Quote(name), r.Size(), maxManifest)
	}
	return io.ReadAll(r)
}

// saved is an image in manifest.json of an archive of docker save.
type saved struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// fromDocker takes an image out of an archive of docker save. Its layers become the store's at once, since such an
// archive has no digests of them; the digests of the configuration are verified later.
func fromDocker(set files, in *intake, ref string) (*origin, error) {
	text, err := readSmallFile(set, "manifest.json")
	if err != nil {
		return nil, err
	}
	var list []saved
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("manifest.json: %w", err)
	}
	want, err := image.ParseName(ref)
	if ref != "" && err != nil {
		return nil, err
	}
	var names []string
	for _, m := range list {
		if ref == "" && len(list) == 1 || ref != "" && slices.ContainsFunc(m.RepoTags, func(tag string) bool {
			n, err := image.ParseName(tag)
			return err == nil && n == want
		}) {
			return m.take(set, in, ref)
		}
		for _, tag := range m.RepoTags {
			names = append(names, words.Quote(tag))
		}
	}
	if len(list) == 0 {
		return nil, errors.New("manifest.json lists no image")
	}
	return nil, fmt.Errorf("write which image: docker-archive:FILE:NAME, with one of %s", some(names))
}

// take stores the layers of an image. ref is its name, or "" for that in the archive.
func (m *saved) take(set files, in *intake, ref string) (*origin, error) {
	if len(m.Layers) == 0 || len(m.Layers) > maxLayers {
		return nil, fmt.Errorf("it has %d layers, and may have 1 to %d", len(m.Layers), maxLayers)
	}
	config, err := readSmallFile(set, m.Config)
	if err != nil {
		return nil, err
	}
	var list []image.Layer
	for i, name := range m.Layers {
		r, err := set.open(name)
		if err != nil {
			return nil, err
		}
		l, err := in.stream(r)
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", i+1, err)
		}
		list = append(list, l)
	}
	o, err := made(config, list)
	if err == nil {
		o.name = cmp.Or(append([]string{ref}, m.RepoTags...)...)
	}
	return o, err
}

// fromLayers makes an image of layers that the store has, and of a configuration, to which the flags are applied.
func (c *command) fromLayers(config *v1.ConfigFile, list []image.Layer) (*origin, error) {
	config.RootFS = v1.RootFS{Type: "layers"}
	for _, l := range list {
		diff, err := v1.NewHash(l.DiffID)
		if err != nil {
			return nil, err
		}
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, diff)
	}
	for _, change := range c.changes {
		change(&config.Config)
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	return made(text, list)
}

// made returns an image whose layers the store has already, with a manifest of its own.
func made(config []byte, list []image.Layer) (*origin, error) {
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1}
	describe := func(digest string, size int64, t types.MediaType) (d v1.Descriptor, err error) {
		d.MediaType, d.Size = t, size
		d.Digest, err = v1.NewHash(digest)
		return d, err
	}
	var err error
	if m.Config, err = describe(image.DigestOf(config), int64(len(config)), types.OCIConfigJSON); err != nil {
		return nil, err
	}
	for _, l := range list {
		d, err := describe(l.Digest, l.Size, layerTypes[types.MediaType(l.MediaType)])
		if err != nil {
			return nil, err
		}
		m.Layers = append(m.Layers, d)
	}
	manifest, err := json.Marshal(&m)
	return &origin{top: manifest, close: func() {}, get: func(v1.Descriptor) ([]byte, error) { return config, nil }}, err
}
