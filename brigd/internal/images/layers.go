package images

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"brig/image"
	"brig/internal/words"
	"brig/layer"
)

// maxWindow bounds what a zstd stream may ask to have in memory, in bytes.
const maxWindow = 128 << 20

// compression names the format that a stream begins with; "" if none is known.
func compression(magic []byte) string {
	for name, start := range map[string]string{"gzip": "\x1f\x8b", "zstd": "\x28\xb5\x2f\xfd", "xz": "\xfd7zX",
		"bzip2": "BZh"} {
		if bytes.HasPrefix(magic, []byte(start)) {
			return name
		}
	}
	return ""
}

// uncompressed returns the content of a stream. Closing it closes r.
func uncompressed(r io.ReadCloser) (io.ReadCloser, error) {
	in := bufio.NewReaderSize(r, 128<<10)
	magic, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch c := compression(magic); c {
	case "":
		return both{in, r}, nil
	case "gzip":
		z, err := gzip.NewReader(in)
		return both{z, r}, err
	case "zstd":
		z, err := zstd.NewReader(in, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(2))
		return both{z, r}, err
	default:
		return nil, fmt.Errorf("it is compressed with %s; decompress it first, or use gzip or zstd", c)
	}
}

// both is a reader of the content of a file, and closes both.
type both struct {
	io.Reader
	file io.Closer
}

// Close implements io.Closer.
func (b both) Close() error {
	if z, ok := b.Reader.(*zstd.Decoder); ok {
		z.Close() // ends its goroutines
	}
	return b.file.Close()
}

// intake stores layers that come without digests, and bounds the bytes of all of them together.
type intake struct {
	*image.Writer
	left, most int64 // bytes, not compressed
}

// intake opens the store for writing, until the command ends.
func (c *command) intake() (in *intake, err error) {
	c.writer, err = c.store.Write()
	return &intake{c.writer, c.maxBytes, c.maxBytes}, err
}

// Write implements io.Writer: it counts, and fails after most bytes.
func (in *intake) Write(p []byte) (int, error) {
	if in.left -= int64(len(p)); in.left < 0 {
		return 0, &layer.LimitError{What: "bytes", Max: in.most}
	}
	return len(p), nil
}

// layer stores as a layer what fill writes, an archive that is not compressed.
func (in *intake) layer(fill func(io.Writer) error) (l image.Layer, err error) {
	sum := sha256.New()
	l.MediaType = string(types.OCILayerZStd)
	l.Digest, l.Size, err = in.Keep(func(out io.Writer) error {
		z, err := zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2))
		if err == nil {
			err = errors.Join(fill(io.MultiWriter(in, z, sum)), z.Close())
		}
		return err
	})
	l.DiffID = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return l, err
}

// stream stores an archive that may be compressed.
func (in *intake) stream(r io.ReadCloser) (image.Layer, error) {
	plain, err := uncompressed(r)
	if err != nil {
		return image.Layer{}, errors.Join(err, r.Close())
	}
	l, err := in.layer(func(to io.Writer) error {
		_, err := io.Copy(to, plain)
		return err
	})
	return l, errors.Join(err, plain.Close())
}

// dir stores a directory. left lists what a layer cannot have.
func (in *intake) dir(name string, maxFiles int64) (l image.Layer, left string, err error) {
	dir, err := os.Open(name)
	if err != nil {
		return l, "", err
	}
	defer dir.Close()
	if st, err := dir.Stat(); err != nil || !st.IsDir() {
		return l, "", errors.Join(fmt.Errorf("%s is not a directory", words.Quote(name)), err)
	}
	l, err = in.layer(func(to io.Writer) error {
		stats, err := layer.Pack(to, dir, &layer.PackOptions{MaxBytes: in.most, MaxFiles: maxFiles})
		if err == nil {
			left = stats.String()
		}
		return err
	})
	return l, left, err
}
