package changes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// leastRoom is what one set may have in bytes, however little Limits.Bytes is: the newest set stays.
const leastRoom = 1 << 20

// room is what a set may still take on disk and in memory. What does not fit is left out.
type room struct {
	bytes, most int64 // of files.json and layer.tar
	names       int64
	files       int
	full        bool // something did not fit into bytes
}

// room returns the room of the next set: what the Limits allow, and nine tenths of what is free.
func (s *Store) room() (*room, error) {
	most := max(s.Limits.Bytes, leastRoom)
	var st unix.Statfs_t
	if err := s.dir.At(func(dir int) error { return unix.Fstatfs(dir, &st) }); err != nil {
		return nil, os.NewSyscallError("fstatfs", err)
	}
	if st.Blocks > 0 { // some file systems do not tell
		free := float64(st.Bavail) * float64(st.Frsize) * 0.9
		most = int64(min(float64(most), free, math.MaxInt64/2))
	}
	return &room{bytes: most, most: most, names: maxNames, files: maxFiles}, nil
}

// take counts a change, whose whiteout or content is in the layer as well. The sizes are upper bounds. The reason is ""
// if the set has room for it.
func (r *room) take(f *File, whiteout bool) (reason string) {
	line, names := int64(200)+quotedSize(f.Path), int64(len(f.Path))
	for _, s := range []*State{f.Old, f.New} {
		if s == nil || s == f.New && f.first != nil {
			continue
		}
		line += 300 + quotedSize(s.Target) + 2*s.attributes() + int64(len(s.XAttrs))*40
		names += int64(len(s.Target)) + s.attributes()
	}
	if f.first == nil && f.New != nil {
		line += entrySize(string(f.Path+f.New.Target)) + 2*f.New.attributes() + f.New.Size
	} else if whiteout {
		line += entrySize(string(f.Path))
	}
	switch {
	case r.files == 0:
		reason = fmt.Sprintf("the change set is full: %d files", maxFiles)
	case names > r.names:
		reason = "the change set is full: " + words.Size(maxNames) + " of names and attributes"
	case line > r.bytes:
		reason = "the change set is full: it may have " + words.Size(r.most) + " here"
		r.full = true
	default:
		r.bytes, r.names, r.files = r.bytes-line, r.names-names, r.files-1
		return ""
	}
	return reason
}

// entrySize is an upper bound of the headers of an entry in a layer: up to six blocks, with the name twice.
func entrySize(name string) int64 { return 6*512 + 3*int64(len(name)) }

// quotedSize is an upper bound of the bytes of a name in JSON: Name.MarshalText makes four of a byte, and JSON five.
func quotedSize(n Name) int64 {
	for i := range len(n) {
		if n[i] < ' ' || n[i] >= 0x7f || n[i] == '"' || n[i] == '\\' {
			return 6 * int64(len(n))
		}
	}
	return int64(len(n))
}

// bounded passes on what is written until a context ends or a number of bytes is reached.
type bounded struct {
	ctx  context.Context
	w    io.Writer
	left *int64
}

// Write implements io.Writer.
func (b *bounded) Write(text []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if *b.left -= int64(len(text)); *b.left < 0 {
		return 0, errors.New("the change set is larger than was computed")
	}
	return b.w.Write(text)
}
