// Package bwrap is bubblewrap's command line (bwrap(1), versions 0.8 to 0.12) on top of this project's jails. Options
// are rows of a table (table.go); Parse turns words into Options, whose Steps keep the order of the words.
package bwrap

import "brig/nsjail/steps"

// The words of a parsed command line. Package steps has their fields.
type (
	Kind  = steps.Kind
	Step  = steps.Step
	CapOp = steps.CapOp
)

// NoFD is the value of a descriptor that no option names.
const NoFD = steps.NoFD

// EnvOp is a change of the environment: all variables are unset, one is set, or one is unset.
type EnvOp struct {
	Clear, Set  bool
	Name, Value string
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
	Help, Version                                    bool  // one of these was met: nothing else counts
	Read                                             []int // the descriptors of --args
	Warnings                                         []string
}
