// Package bwrap is bubblewrap's command line (bwrap(1), versions 0.8 to 0.11) on top of this project's jails. Options
// are rows of a table (table.go); Parse turns words into Options, whose Steps keep the order of the words.
package bwrap

// Kind is what a Step does; it has the name of the option.
type Kind string

// The kinds of steps. The variants that end in -try and -fd are flags of a Step.
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

// NoFD is the value of a descriptor that no option names.
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
}

// EnvOp is a change of the environment: all variables are unset, one is set, or one is unset.
type EnvOp struct {
	Clear, Set  bool
	Name, Value string
}

// CapOp adds capabilities to the payload's or drops them.
type CapOp struct {
	Add bool
	Set uint64 // a bit for each capability: capabilities(7)
}

// Options is a parsed command line.
type Options struct {
	Command []string
	Argv0   *string // nil: the command's name
	Steps   []Step
	Env     []EnvOp
	Caps    []CapOp

	UnshareUser, UnshareUserTry, UnshareIPC, UnsharePID, UnshareNet, UnshareUTS bool
	UnshareCgroup, UnshareCgroupTry                                             bool
	DisableUserns, AssertUsernsDisabled                                         bool
	NewSession, DieWithParent, AsPID1, LevelPrefix                              bool
	UID, GID                                                                    int // -1: the caller's
	Hostname, Chdir, ExecLabel, FileLabel                                       string

	LockFiles                                        []string
	SyncFD, BlockFD, UsernsBlockFD, InfoFD, StatusFD int
	SeccompFD, UsernsFD, Userns2FD, PIDNSFD          int
	AddSeccomp                                       []int
	Help, Version                                    bool // one of these was met: nothing else counts
	Warnings                                         []string
}

// SplitsPID1 reports whether a process stays with the command that reaps, holds the locks and the descriptor to sync.
func (o *Options) SplitsPID1() bool {
	return !o.AsPID1 && (o.UnsharePID || len(o.LockFiles) > 0 || o.SyncFD != NoFD)
}
