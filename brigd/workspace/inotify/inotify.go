// Package inotify reads what inotify(7) tells, and keeps the paths of the directories that are watched.
package inotify

import (
	"bytes"
	"encoding/binary"
	"strings"

	"golang.org/x/sys/unix"
)

// Mask is what is told of a watched directory. A directory that is a symbolic link, or no directory, is not watched.
const Mask = unix.IN_CREATE | unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
	unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK

// Raw is one event as the kernel tells it.
type Raw struct {
	Watch  int // the descriptor of the watch; -1 if events were lost
	Mask   uint32
	Cookie uint32 // joins the two halves of a rename
	Name   string // in the directory; "" for the directory itself
}

// Is reports whether an event is one of some kinds.
func (r *Raw) Is(mask uint32) bool { return r.Mask&mask != 0 }

// Parse returns the events that were read.
func Parse(text []byte) (list []Raw) {
	for len(text) >= unix.SizeofInotifyEvent {
		size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(text[12:]))
		if size > len(text) {
			break
		}
		name, _, _ := bytes.Cut(text[unix.SizeofInotifyEvent:size], []byte{0})
		list = append(list, Raw{int(int32(binary.NativeEndian.Uint32(text))), binary.NativeEndian.Uint32(text[4:]),
			binary.NativeEndian.Uint32(text[8:]), string(name)})
		text = text[size:]
	}
	return list
}

// Partners returns for each first half of a rename in a list, by its index, that of the second half.
func Partners(list []Raw) map[int]int {
	halves, found := map[uint32]int{}, map[int]int{}
	for i := range list {
		switch r := &list[i]; {
		case r.Is(unix.IN_MOVED_FROM):
			halves[r.Cookie] = i
		case r.Is(unix.IN_MOVED_TO):
			if from, ok := halves[r.Cookie]; ok {
				found[from] = i
				delete(halves, r.Cookie)
			}
		}
	}
	return found
}

// Paths are those of the watched directories, by watch. They are what the events have told so far.
type Paths map[int]string

// below returns the rest of a path that is a directory or below it.
func below(path, dir string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	return rest, ok && (rest == "" || rest[0] == '/')
}

// Move renames a directory and all below it. It removes the watches whose path would have most bytes or more, and
// returns them.
func (p Paths) Move(from, to string, most int) (long []int) {
	for watch, path := range p {
		rest, ok := below(path, from)
		if !ok {
			continue
		}
		if p[watch] = to + rest; len(p[watch]) >= most {
			long = append(long, watch)
			delete(p, watch)
		}
	}
	return long
}

// Drop removes a directory and all below it, and returns their watches.
func (p Paths) Drop(dir string) (gone []int) {
	for watch, path := range p {
		if _, ok := below(path, dir); ok {
			gone = append(gone, watch)
			delete(p, watch)
		}
	}
	return gone
}
