package gitdata

import (
	"encoding/binary"
	"io"
)

const extensionHead = 8 // a signature and a length

// extensions reads what follows the entries, up to the hash at the end.
func (x *indexReader) extensions() error {
	for x.at < x.size-x.hash {
		at := x.at
		head, err := x.next(extensionHead)
		if err != nil {
			return err
		}
		name, n := string(head[:4]), int64(binary.BigEndian.Uint32(head[4:]))
		if n > x.size-x.hash-x.at {
			return errNoIndex
		}
		switch name {
		case "link":
			x.split = true
		case "EOIE":
			x.eoie = at
		case "IEOT":
			if x.blocks != nil {
				return errNoIndex
			}
			x.blocks = make([]byte, n)
			if _, err := x.file.ReadAt(x.blocks, x.at); err != nil {
				return err
			}
		}
		if _, err := x.in.Discard(int(n)); err != nil {
			return errNoIndex
		}
		x.at += n
	}
	return nil
}

// threads checks what git reads first if it reads by threads: an extension at a fixed distance from the end, which says
// where the entries end, and the places of blocks of entries.
func (x *indexReader) threads() error {
	b := make([]byte, extensionHead+4)
	at := x.size - 2*x.hash - int64(len(b))
	if at < x.end {
		at = 0
	}
	if at > 0 {
		if _, err := x.file.ReadAt(b, at); err != nil && err != io.EOF {
			return err
		}
	}
	marked := at > 0 && string(b[:4]) == "EOIE"
	if (marked || x.eoie > 0) && (x.eoie != at || int64(binary.BigEndian.Uint32(b[extensionHead:])) != x.end) {
		return errNoIndex
	}
	if x.blocks == nil {
		return nil
	}
	rest := x.blocks
	if len(rest) < 4 || binary.BigEndian.Uint32(rest) != 1 {
		return errNoIndex
	}
	entry := int64(0)
	for rest = rest[4:]; len(rest) >= 8; rest = rest[8:] {
		start, n := int64(binary.BigEndian.Uint32(rest)), int64(binary.BigEndian.Uint32(rest[4:]))
		if entry >= int64(len(x.starts)) || x.starts[entry] != start || !x.whole[entry] {
			return errNoIndex
		}
		entry += n
	}
	if len(rest) != 0 || entry != int64(len(x.starts)) {
		return errNoIndex
	}
	return nil
}
