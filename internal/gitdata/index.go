package gitdata

import (
	"bytes"
	"encoding/binary"
)

// SameIndex reports whether two versions of a file index (gitformat-index(5)) name the same files with the same
// content, so that they differ only in what git keeps of stat(2), as after `git status`. It is false for what it cannot
// read.
func SameIndex(a, b []byte) bool {
	for _, hash := range []int{20, 32} {
		x, xok := entries(a, hash)
		y, yok := entries(b, hash)
		if xok && yok {
			return bytes.Equal(x, y)
		}
	}
	return false
}

// entries returns an index without results of stat(2) and caches.
func entries(index []byte, hash int) (kept []byte, ok bool) {
	const fixed = 40 // ctime, mtime, dev, ino, mode, uid, gid, size
	be := binary.BigEndian
	if len(index) < 12+hash || string(index[:4]) != "DIRC" {
		return nil, false
	}
	version, n, rest := be.Uint32(index[4:]), be.Uint32(index[8:]), index[12:len(index)-hash]
	if version < 2 || version > 4 {
		return nil, false
	}
	kept = append(kept, index[4:12]...)
	for ; n > 0; n-- {
		head := fixed + hash + 2
		if len(rest) < head {
			return nil, false
		}
		if be.Uint16(rest[head-2:])&0x4000 != 0 { // extended flags
			head += 2
		}
		at := head
		for version == 4 && at < len(rest) && rest[at]&0x80 != 0 { // how much of the last name is left out
			at++
		}
		if version == 4 {
			at++
		}
		end := bytes.IndexByte(rest[min(at, len(rest)):], 0)
		if end < 0 {
			return nil, false
		}
		size := at + end + 1
		kept = append(append(kept, rest[24:28]...), rest[fixed:size]...)
		if version < 4 { // NULs fill up to a multiple of 8
			size = (size - 1 + 8) &^ 7
		}
		if size > len(rest) {
			return nil, false
		}
		rest = rest[size:]
	}
	for len(rest) >= 8 {
		size := be.Uint32(rest[4:])
		if uint64(size) > uint64(len(rest)-8) {
			return nil, false
		}
		switch name := string(rest[:4]); name {
		case "TREE", "UNTR", "FSMN", "EOIE", "IEOT": // caches
		default:
			kept = append(kept, rest[:8+size]...)
		}
		rest = rest[8+size:]
	}
	return kept, len(rest) == 0
}
