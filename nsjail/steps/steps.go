// Package steps describes a jail as bubblewrap does: nothing is unshared unless it is named, the steps of the root are
// performed in their order, and the payload keeps the caller's user, capabilities, environment, descriptors and
// session. nsjail.Runner.CommandOrdered makes it.
package steps

import "brig/nsjail/spec"

// Option is before the name of an option in the labels of a jail's operations, which an error has as its Op, and in
// what its message refers to: "option chdir". Who has the options prints them as its readers write them.
const Option = "option "

// Kind is what a Step does. It is bubblewrap's option without the dashes.
type Kind string

// The kinds.
const (
	Bind       Kind = "bind"
	ROBind     Kind = "ro-bind"
	DevBind    Kind = "dev-bind"
	Overlay    Kind = "overlay"
	TmpOverlay Kind = "tmp-overlay"
	ROOverlay  Kind = "ro-overlay"
	Proc       Kind = "proc"
	Dev        Kind = "dev"
	Tmpfs      Kind = "tmpfs"
	Mqueue     Kind = "mqueue"
	Dir        Kind = "dir"
	File       Kind = "file"
	BindData   Kind = "bind-data"
	ROBindData Kind = "ro-bind-data"
	Symlink    Kind = "symlink"
	RemountRO  Kind = "remount-ro"
	Hostname   Kind = "hostname"
	Chmod      Kind = "chmod"
)

// NoFD is the value of a descriptor that is not given.
const NoFD = -1

// Step is one change of the file tree, or of the host name. Later steps act on what earlier ones have made.
type Step struct {
	Kind   Kind
	Source string   // the path on the host, the text of a symbolic link, or the upper directory of an overlay
	Target string   // the path in the sandbox, or the host name
	Lower  []string // the layers of an overlay, the topmost first
	Work   string   // the working directory of an overlay
	FD     int      // the descriptor with the data, or of the source; NoFD for none
	Try    bool     // a source that does not exist is no error
	Perms  uint32   // the mode, with the option's default
	Size   uint64   // bytes of a tmpfs; 0 for the kernel's default
	Data   []byte   // what FD holds, for the kinds that show it
}

// CapOp adds capabilities to the payload's or drops them. Without any, root's are the caller's, and others have none.
type CapOp struct {
	Add bool
	Set uint64 // a bit for each capability: capabilities(7)
}

// Jail is the description.
type Jail struct {
	Args  []string
	Argv0 *string // nil: Args[0]
	Env   []string
	Steps []Step

	NewUser, NewIPC, NewPID, NewNet, NewUTS, NewCgroup bool // the new namespaces
	UID, GID                                           int  // the payload's ids; -1: the caller's
	Userns, Userns2, PIDNS                             int  // descriptors of namespaces to enter; NoFD for none
	DisableUserns, AssertUserns                        bool // no further user namespace can be made; or else fail
	Unmapped                                           bool // the caller writes the id maps of the new user namespace
	Caps                                               []CapOp

	NewSession, DieWithParent, NoInit bool
	Chdir                             string // "": the caller's directory, or else HOME, or else /
	LockFiles                         []string
	SyncFD, BlockFD                   int  // NoFD for none
	Waits                             bool // the set-up waits until spawned of CommandOrdered returns
	CloseFDs                          []int
	ExecLabel                         string   // the SELinux context of the payload, or ""
	Filters                           [][]byte // of seccomp(2), in the order of their loading

	// What bubblewrap does not have: limits, egress, a profile. A jail with one of these ends with its payload.
	Limits spec.Limits
	Net    spec.Spec // its Net, Egress and Seccomp
}

// HasInit reports whether a process stays with the payload: it reaps, and holds the locks and the descriptor to sync.
func (j *Jail) HasInit() bool {
	return !j.NoInit && (j.NewPID || len(j.LockFiles) > 0 || j.SyncFD != NoFD)
}

// Bounded reports whether the keeper has something to hold, so that the jail must end with it.
func (j *Jail) Bounded() bool {
	return j.Limits.Wall != 0 || j.Limits.Processes > 0 || len(j.Limits.Asked()) > 0 || j.Net.Net == spec.NetEgress
}
