package images

import (
	"bytes"
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

const (
	maxManifest = 4 << 20 // bytes of an index, a manifest or a configuration
	maxLayers   = 512
	maxNesting  = 4 // indexes in indexes
)

// origin is where an image comes from.
type origin struct {
	source string                                // for people
	name   string                                // the one that the source has for it, or ""
	top    []byte                                // the index or manifest to begin with
	get    func(d v1.Descriptor) ([]byte, error) // returns an index, manifest or configuration
	// fetch opens a layer as image.Fetch does. It is nil if the store has all.
	fetch func(digest string, from int64) (io.ReadCloser, int64, error)
	told  []string // what its base lacks, as that was said
	close func()   // ends what fetch has begun; may be called twice
}

// read returns an index, manifest or configuration, once its digest has been verified.
func (o *origin) read(d v1.Descriptor) ([]byte, error) {
	if d.Size < 0 || d.Size > maxManifest {
		return nil, fmt.Errorf("%s has %d bytes, and may have %d", d.Digest, d.Size, maxManifest)
	}
	text, err := o.get(d)
	if err != nil {
		return nil, err
	}
	if is := image.DigestOf(text); is != d.Digest.String() {
		return nil, fmt.Errorf("the digest of what should be %s is %s", d.Digest, is)
	}
	return text, nil
}

// manifest descends from an index to the manifest for a platform.
func (o *origin) manifest(text []byte, want v1.Platform, depth int) ([]byte, error) {
	index, err := isIndex(text)
	if err != nil || !index {
		return text, err
	}
	if depth == maxNesting {
		return nil, fmt.Errorf("its index has indexes in more than %d levels", maxNesting)
	}
	list, err := v1.ParseIndexManifest(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("its index: %w", err)
	}
	d, err := choose(list.Manifests, want)
	if err != nil {
		return nil, err
	}
	if text, err = o.read(d); err != nil {
		return nil, err
	}
	return o.manifest(text, want, depth+1)
}

// isIndex reports whether a text is an index, and not a manifest. A text that could be read as either is an error.
func isIndex(text []byte) (bool, error) {
	var m struct {
		SchemaVersion int             `json:"schemaVersion"`
		MediaType     types.MediaType `json:"mediaType"`
		Manifests     json.RawMessage `json:"manifests"`
		Config        json.RawMessage `json:"config"`
		Layers        json.RawMessage `json:"layers"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return false, fmt.Errorf("its manifest: %w", err)
	}
	index := m.Manifests != nil
	switch {
	case m.SchemaVersion != 2:
		return false, fmt.Errorf("its manifest has version %d, and should have 2; push it again with a newer client",
			m.SchemaVersion)
	case index == (m.Layers != nil || m.Config != nil):
		return false, errors.New("its manifest is neither that of an image nor an index, or both")
	case m.MediaType == "" || index && m.MediaType.IsIndex() || !index && m.MediaType.IsImage():
		return index, nil
	}
	return false, fmt.Errorf("its manifest has the unknown media type %s", words.Quote(string(m.MediaType)))
}

// choose returns the entry of an index for a platform. An entry without a variant goes before others.
func choose(list []v1.Descriptor, want v1.Platform) (best v1.Descriptor, err error) {
	var have []string
	found := false
	for _, d := range list {
		if !d.MediaType.IsIndex() && !d.MediaType.IsImage() && d.MediaType != "" {
			continue // a signature, an attestation
		}
		p := d.Platform
		if p == nil {
			if p = &want; len(list) > 1 && !d.MediaType.IsIndex() {
				have = append(have, "one for no platform")
				continue
			}
		}
		if p.OS == "unknown" {
			continue
		}
		if p.OS != want.OS || p.Architecture != want.Architecture || want.Variant != "" && p.Variant != want.Variant {
			if s := words.Printable(words.Short(p.String(), words.MaxShown)); !slices.Contains(have, s) {
				have = append(have, s)
			}
			continue
		}
		if !found || best.Platform != nil && best.Platform.Variant != "" && p.Variant == "" {
			best, found = d, true
		}
	}
	if found {
		return best, nil
	}
	if len(have) == 0 {
		return best, errors.New("its index has no image")
	}
	return best, fmt.Errorf("it is not for %s; it is for %s (--platform)", want.String(), some(have))
}

// some lists at most 16 names.
func some(names []string) string { return strings.Join(names[:min(len(names), 16)], ", ") }

// layerTypes are the media types of layers, and those of OCI in their place.
var layerTypes = map[types.MediaType]types.MediaType{
	types.OCILayer:                types.OCILayer,
	types.OCIUncompressedLayer:    types.OCIUncompressedLayer,
	types.OCILayerZStd:            types.OCILayerZStd,
	types.DockerLayer:             types.OCILayer,
	types.DockerUncompressedLayer: types.OCIUncompressedLayer,
	"application/vnd.docker.image.rootfs.diff.tar.zstd": types.OCILayerZStd,
}

// describe reads a manifest and its configuration: what the store needs of them.
func (o *origin) describe(manifest []byte, want v1.Platform, maxBytes int64) (*image.New, error) {
	m, err := v1.ParseManifest(bytes.NewReader(manifest))
	if err != nil {
		return nil, fmt.Errorf("its manifest: %w", err)
	}
	if t := m.Config.MediaType; !t.IsConfig() && t != "" {
		return nil, fmt.Errorf("its configuration has the media type %s; it is not an image of a container",
			words.Quote(string(t)))
	}
	text, err := o.read(m.Config)
	if err != nil {
		return nil, fmt.Errorf("its configuration: %w", err)
	}
	n := &image.New{Manifest: manifest, Configuration: text}
	if n.Layers, err = checkLayers(m.Layers, maxBytes); err != nil {
		return nil, err
	}
	if err := configure(n, want); err != nil {
		return nil, err
	}
	n.Source = o.source
	return n, nil
}

// checkLayers checks the layers of a manifest.
func checkLayers(list []v1.Descriptor, maxBytes int64) (all []image.Layer, err error) {
	if len(list) == 0 || len(list) > maxLayers {
		return nil, fmt.Errorf("it has %d layers, and may have 1 to %d", len(list), maxLayers)
	}
	left := maxBytes
	for i, d := range list {
		switch _, known := layerTypes[d.MediaType]; {
		case !d.MediaType.IsDistributable():
			return nil, fmt.Errorf("layer %d is kept outside of its registry; such addresses are never followed", i+1)
		case !known:
			return nil, fmt.Errorf("layer %d has the unknown media type %s", i+1, words.Quote(string(d.MediaType)))
		case d.Digest.Algorithm != "sha256":
			return nil, fmt.Errorf("layer %d has a digest that is not SHA-256: %s", i+1, d.Digest)
		case d.Size < 0 || d.Size > left:
			return nil, fmt.Errorf("layer %d has %d bytes; the layers together may have %d: --max-bytes raises the bound",
				i+1, d.Size, maxBytes)
		}
		left -= d.Size
		all = append(all, image.Layer{Digest: d.Digest.String(), Size: d.Size, MediaType: string(d.MediaType)})
	}
	return all, nil
}

// configure takes from an image's configuration what the store shows of it.
func configure(n *image.New, want v1.Platform) error {
	c, err := v1.ParseConfigFile(io.LimitReader(bytes.NewReader(n.Configuration), maxManifest))
	if err != nil {
		return fmt.Errorf("its configuration: %w", err)
	}
	if len(c.RootFS.DiffIDs) != len(n.Layers) {
		return fmt.Errorf("it has %d layers, but its configuration describes %d", len(n.Layers), len(c.RootFS.DiffIDs))
	}
	for i, d := range c.RootFS.DiffIDs {
		n.Layers[i].DiffID = d.String()
	}
	if c.OS != "" && c.OS != want.OS || c.Architecture != "" && c.Architecture != want.Architecture {
		return fmt.Errorf("it is for %s/%s, not for %s (--platform)", words.Printable(words.Short(c.OS, 32)),
			words.Printable(words.Short(c.Architecture, 32)), want.String())
	}
	n.Platform = want.OS + "/" + want.Architecture
	n.Created = c.Created.Time
	n.Config = image.Config{Env: c.Config.Env, Entrypoint: c.Config.Entrypoint, Cmd: c.Config.Cmd,
		WorkingDir: c.Config.WorkingDir, User: c.Config.User, Labels: c.Config.Labels}
	return nil
}
