package changes

import (
	"slices"
	"time"

	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// Kind is the type of a file.
type Kind string

// The kinds of files. A run can delete one of the Other kinds (a socket, say), but not make one.
const (
	Regular   Kind = "file"
	Directory Kind = "dir"
	Symlink   Kind = "symlink"
	Other     Kind = "other"
)

// State describes a file at one time.
type State struct {
	Kind Kind `json:"kind"`
	// Mode has the permissions, without the set-user-ID, set-group-ID and sticky bits, which a set never has.
	Mode   uint32 `json:"mode"`
	Size   int64  `json:"size,omitempty"`   // of a regular file, in bytes
	SHA256 string `json:"sha256,omitempty"` // of a regular file, in hexadecimal; "" if it could not be read
	Target Name   `json:"target,omitempty"` // of a symbolic link
	// XAttrs are the extended attributes in the namespace user (xattr(7)), sorted.
	XAttrs []XAttr `json:"xattrs,omitempty"`
	// Of a file of the base directory: st_mtim in nanoseconds since 1970, and st_ino.
	MTime int64  `json:"mtime,omitempty"`
	Inode uint64 `json:"inode,omitempty"`

	stat   *unix.Stat_t
	binary bool // it has a NUL among the first bytes
	lines  int
}

func kindIs(s *State, kinds ...Kind) bool { return s != nil && slices.Contains(kinds, s.Kind) }

// ifIs returns s if it has one of the kinds, and else nil.
func (s *State) ifIs(kinds ...Kind) *State {
	if kindIs(s, kinds...) {
		return s
	}
	return nil
}

// equal reports whether two files have the same kind, mode, attributes and content. Inodes and times are not compared.
// Files without a digest are equal if they have the same inode, time and size.
func (s *State) equal(t *State) bool {
	if s == nil || t == nil || s.Kind != t.Kind || s.Mode != t.Mode && s.Kind != Symlink {
		return s == t
	}
	if s.Kind == Other || s.Kind == Regular && (s.SHA256 == "" || t.SHA256 == "") {
		return s.Inode == t.Inode && s.MTime == t.MTime && s.Size == t.Size
	}
	return s.Size == t.Size && s.SHA256 == t.SHA256 && s.Target == t.Target && s.SameAttributes(t)
}

// digest reports whether a state of the file has a digest of as many bytes. Without one, reading a file of that size
// tells equal nothing.
func (f *File) digest(size int64) bool {
	return slices.ContainsFunc([]*State{f.Old, f.New}, func(s *State) bool {
		return kindIs(s, Regular) && s.Size == size && s.SHA256 != ""
	})
}

// SameAttributes reports whether two files have the same extended attributes.
func (s *State) SameAttributes(t *State) bool {
	return slices.EqualFunc(s.XAttrs, t.XAttrs, XAttr.equal)
}

// XAttr is an extended attribute.
type XAttr struct {
	Name  Name   `json:"name"` // without user.
	Value []byte `json:"value"`
}

func (a XAttr) equal(b XAttr) bool { return a.Name == b.Name && string(a.Value) == string(b.Value) }

// only returns the attributes of s that t lacks or has with another value. s and t may be nil.
func (s *State) only(t *State) (list []XAttr) {
	if s == nil {
		return nil
	}
	for _, a := range s.XAttrs {
		if t == nil || !slices.ContainsFunc(t.XAttrs, a.equal) {
			list = append(list, a)
		}
	}
	return list
}

// File is a change: a file of the base directory, and what the run has made of it.
type File struct {
	Path Name   `json:"path"`          // below the directory, without a slash at either end
	Old  *State `json:"old,omitempty"` // nil if the run has added it
	New  *State `json:"new,omitempty"` // nil if the run has deleted it
	// Added and Removed are numbers of lines, of text files that are not too large to compare.
	Added   int  `json:"added,omitempty"`
	Removed int  `json:"removed,omitempty"`
	Binary  bool `json:"binary,omitempty"` // lines are not counted
	// Raced means that somebody changed the base directory's file while the payload ran.
	Raced bool `json:"raced,omitempty"`

	index int   // in the set
	first *File // the change that has the same file of the run under another name, with the content in the layer
}

// IsDirectory reports whether the change is one of a directory: it was made, removed, or has another mode.
func (f *File) IsDirectory() bool {
	if f.New == nil {
		return f.Old.Kind == Directory
	}
	return f.New.Kind == Directory
}

// Op returns what the run did: added, changed or deleted.
func (f *File) Op() string {
	switch {
	case f.Old == nil:
		return "added"
	case f.New == nil:
		return "deleted"
	}
	return "changed"
}

// Counts sums the changes of a set.
type Counts struct {
	Files   int   `json:"files"`                    // changes, without those of directories; a moved file is one
	Added   int   `json:"added"`                    // lines, but of moved files
	Removed int   `json:"removed"`                  // lines, but of moved files
	Bytes   int64 `json:"bytes"`                    // of added and changed files
	Dirs    int   `json:"dirs,omitempty"`           // directories that were made, removed, or have another mode
	Left    int   `json:"left_out_count,omitempty"` // files that are left out
}

// Refused is a file of the run that a set does not hold, or a change that Apply does not make.
type Refused struct {
	Path   Name       `json:"path"`
	Reason words.Text `json:"reason"`
}

// Dir is the directory that a set belongs to: openat(2) must find the same one when the set is applied.
type Dir struct {
	Path   Name   `json:"path"`
	Device uint64 `json:"device"` // st_dev
	Inode  uint64 `json:"inode"`  // st_ino
}

// Blob is a file of a set.
type Blob struct {
	MediaType string `json:"mediaType"` // as in an OCI descriptor
	Digest    string `json:"digest"`    // sha256: and hexadecimal digits
	Size      int64  `json:"size"`
}

// Run is what made the changes.
type Run struct {
	Command  []Name    `json:"command,omitempty"`
	Status   string    `json:"status,omitempty"` // of nsjail.Result
	ExitCode int       `json:"exit_code"`
	Started  time.Time `json:"started"` // before the directory was mounted
	Ended    time.Time `json:"ended"`
	Target   Name      `json:"target,omitempty"` // where the payload saw the directory
	// Protect are paths below the directory that the set may change only where Apply is told each of them.
	Protect []Name `json:"protect,omitempty"`
	// Git are paths below the directory whose files come to git directories whatever they are, but for links; "." is for
	// all, links as well.
	Git []Name `json:"git,omitempty"`
}

// Header is a set without its files.
type Header struct {
	Version int       `json:"version"`
	Dir     Dir       `json:"dir"`
	Run     Run       `json:"run"`
	Counts  Counts    `json:"counts"`
	LeftOut []Refused `json:"left_out,omitempty"` // at most maxLeftOut
	Table   Blob      `json:"files"`              // files.json
	Layer   Blob      `json:"layer"`
}

// attributes returns the bytes of a file's attributes.
func (s *State) attributes() (n int64) {
	for _, x := range s.XAttrs {
		n += int64(len(x.Name) + len(x.Value))
	}
	return n
}
