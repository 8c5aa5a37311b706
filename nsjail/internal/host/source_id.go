package host

import (
	"fmt"
	"strconv"
	"strings"

	"brig/nsjail/spec"
)

// SourceID tells one source of a jail from the others: by the mount that it is for.
type SourceID struct {
	Mount int  // the index in Spec.Mounts, or spec.Root
	Upper bool // the directory on disk for the changes of a mount of Spec.COWs, instead of what the mount shows
}

// SourceOf returns the ID of what a mount shows, or the root.
func SourceOf(mount int) SourceID { return SourceID{Mount: mount} }

// UpperOf returns the ID of the directory on disk for the changes of a mount of Spec.COWs.
func UpperOf(mount int) SourceID { return SourceID{Mount: mount, Upper: true} }

// Entry returns the entry of the Spec that the source is for.
func (id SourceID) Entry() string {
	if id.Mount == spec.Root {
		return "rootfs"
	}
	return spec.Index("mounts", id.Mount)
}

// String returns the ID as errors and `brig explain` have it, as "mounts[2].source".
func (id SourceID) String() string {
	switch {
	case id.Upper:
		return id.Entry() + ".upper"
	case id.Mount == spec.Root:
		return id.Entry()
	}
	return id.Entry() + ".source"
}

// MarshalText implements encoding.TextMarshaler.
func (id SourceID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *SourceID) UnmarshalText(text []byte) error {
	entry, kind, _ := strings.Cut(string(text), ".")
	read := SourceID{Mount: spec.Root, Upper: kind == "upper"}
	if digits, ok := strings.CutPrefix(entry, "mounts["); ok {
		read.Mount, _ = strconv.Atoi(strings.TrimSuffix(digits, "]"))
	}
	if read.Mount < spec.Root || read.String() != string(text) {
		return fmt.Errorf("%q is no source", text)
	}
	*id = read
	return nil
}
