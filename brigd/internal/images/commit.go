package images

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"brig/image"
	"brig/internal/words"
)

// commit makes an image of another one and a layer on top of it.
func (c *command) commit(args []string) error {
	if _, err := image.ParseName(args[1]); err != nil {
		return err
	}
	base, hold, err := c.hold(args[0])
	if err != nil {
		return err
	}
	defer hold.Close()
	if len(base.Layers) == maxLayers {
		return errors.New("the image has as many layers as an image may have; export it and import it with fewer")
	}
	in, err := c.intake()
	if err != nil {
		return err
	}
	l, err := c.layer(in)
	if err != nil {
		return err
	}
	_, text, err := texts(base)
	if err != nil {
		return err
	}
	config, err := v1.ParseConfigFile(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("the configuration of %s: %w", words.Quote(args[0]), err)
	}
	if len(config.History) > 0 {
		config.History = append(config.History, v1.History{CreatedBy: "brig image commit"})
	}
	o, err := c.fromLayers(config, append(slices.Clip(base.Layers), l))
	if err != nil {
		return err
	}
	o.source, o.told = "commit of "+base.Digest, base.LeftOut
	c.want = v1.Platform{OS: config.OS, Architecture: config.Architecture}
	return c.bring(in, o, args[1])
}

// layer stores the layer of a commit.
func (c *command) layer(in *intake) (l image.Layer, err error) {
	from := io.NopCloser(c.in)
	if c.layerFD > 0 {
		f := os.NewFile(uintptr(c.layerFD), "the layer")
		if _, err := f.Stat(); err != nil {
			return l, fmt.Errorf("--layer-fd %d: %w; open it for brigd", c.layerFD, err)
		}
		from = f
	}
	if l, err = in.stream(from); err != nil {
		return l, fmt.Errorf("the layer: %w", err)
	}
	if c.layerFD == 0 {
		return l, nil
	}
	// A pipe ends in the same way when brig is killed, and an archive that is cut between two files is valid.
	if end, err := io.ReadAll(io.LimitReader(c.in, 4)); string(end) != "end\n" {
		return l, errors.Join(errors.New(`the layer is not whole: after it, standard input lacks the line "end"`), err)
	}
	return l, nil
}
