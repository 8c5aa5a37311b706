package learn

import (
	"net/netip"

	"brig/nsjail"
	"brig/nsjail/spec"
)

// Kind is what a failed call was about.
type Kind int

// The kinds of events.
const (
	Read    Kind = iota // it looked for a path, or wanted to read it
	Exec                // it wanted to execute it
	Write               // it wanted to change it, or to make it
	Socket              // it wanted to connect to a socket with this path
	Full                // the file system of the path was full
	Connect             // it wanted to reach an address
	Lookup              // it asked for the address of a name
	Count               // it wanted one more process or descriptor than the limit allows
	Search              // the command is not on its PATH; Path is where the host has it
)

// Event is a system call that has failed, with a count. The call of a Lookup need not have failed.
type Event struct {
	Kind  Kind
	Call  string // the system call's name
	Errno string // such as "ENOENT"
	Count int
	// Path is the path in the jail, absolute and clean.
	Path string
	// Nodes are the files of the host that the path leads to and that the jail lacks: symbolic links on the way, then the
	// file. None means that the host has no such file, or that the jail has all of them.
	Nodes []Node
	// Dir is the directory of the path, for Write.
	Dir  Dir
	Addr netip.AddrPort // for Connect
	Name string         // for Lookup
}

// Node is a file of the host that the jail lacks.
type Node struct {
	At   string // its path in the jail
	Top  string // the same, or the outermost directory above it that the jail lacks as well
	Host string // its path on the host
	Type Type
	// Public reports whether every user of the host may read it.
	Public bool
}

// Type is the type of a file.
type Type int

// The types of a Node.
const (
	File Type = iota
	Directory
	Link
	SocketFile
	Device
)

// Dir is a directory that a call wanted to change.
type Dir struct {
	Path   string
	InJail bool // the jail has it
	Empty  bool // it has it, and it is empty
	OnHost bool // the host has it
}

// Place is a directory of the jail, and the directory of the host that is there.
type Place struct {
	At   string
	Host string // "" if the directory is the jail's own, or is not on the host
}

// Places returns where the host's files are in a jail of this Spec, the nearest last. The caller's directory dir stands
// for the working directory, and home for the payload's home, as long as the Spec has no mount there: a command that is
// tried in a jail for the first time means these.
func Places(s *nsjail.Spec, dir, home string) []Place {
	list := []Place{{"/", "/"}}
	if s.Rootfs != (nsjail.Rootfs{}) {
		list = []Place{{"/", ""}, {"/srv", "/srv"}, {"/mnt", "/mnt"}, {"/home", "/home"}, {"/opt", "/opt"}}
		if s.Workdir != "" { // of an image
			list = append(list, Place{s.Workdir, dir})
		}
		list = append(list, Place{dir, dir})
	}
	for _, own := range []string{"/proc", "/sys", "/dev", "/input", "/output"} {
		list = append(list, Place{own, ""})
	}
	if s.Workdir == "" || under(s.Workdir, spec.DefaultWorkdir) {
		list = append(list, Place{spec.DefaultWorkdir, dir})
	}
	list = append(list, Place{spec.DefaultHome, home})
	for _, m := range s.Mounts {
		p := Place{At: m.Target}
		if m.Type == nsjail.MountBind || m.Type == nsjail.MountCOW {
			p.Host = m.Source
		}
		list = append(list, p)
	}
	return list
}

// HostPath returns the path on the host of a clean path in the jail, or "".
func HostPath(list []Place, at string) string {
	best := Place{}
	for _, p := range list {
		if under(at, p.At) && len(p.At) >= len(best.At) {
			best = p
		}
	}
	switch {
	case best.Host == "":
		return ""
	case best.At == "/":
		return join(best.Host, at[1:])
	}
	return join(best.Host, at[len(best.At):])
}
