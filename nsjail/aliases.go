package nsjail

import (
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/run"
	"brig/nsjail/spec"
)

// The types that most programs write. Package brig/nsjail/spec has their fields, and the rest: defaults, parsers, the
// table of limits, mechanisms, modes of a git directory.
type (
	// Spec describes a jail without reference to a machine: see spec.Spec.
	Spec = spec.Spec
	// Mount adds an entry to the jail's file tree: see spec.Mount.
	Mount = spec.Mount
	// Rootfs is a directory tree for use as the jail's root: see spec.Rootfs.
	Rootfs = spec.Rootfs
	// Limits bound what a jail uses of the machine: see spec.Limits.
	Limits = spec.Limits
	// Bytes is a size, in JSON and in flags a text such as "64m": see spec.Bytes.
	Bytes = spec.Bytes
	// Duration is a time.Duration, in JSON and in flags a text such as "1m30s": see spec.Duration.
	Duration = spec.Duration
	// Error is why a jail could not be made, with whose fault it is and a remedy: see spec.Error.
	Error = spec.Error
)

// The types of a Mount.
const (
	MountBind    = spec.MountBind
	MountTmpfs   = spec.MountTmpfs
	MountDir     = spec.MountDir
	MountFile    = spec.MountFile
	MountData    = spec.MountData
	MountSymlink = spec.MountSymlink
	MountVolume  = spec.MountVolume
	MountCOW     = spec.MountCOW
)

// The networks of a Spec.
const (
	NetLoopback = spec.NetLoopback
	NetNone     = spec.NetNone
	NetHost     = spec.NetHost
	NetEgress   = spec.NetEgress
)

// The facts that Look returns.
type (
	Host      = host.Host
	Kernel    = host.Kernel
	Device    = host.Device
	ProcFile  = host.ProcFile
	Source    = host.Source
	SystemDir = host.SystemDir
)

// Look reads the facts of the machine that a Spec depends on. It changes nothing. Close the Host after the start.
func Look(s *Spec) (*Host, error) { return host.Look(s) }

// LookIdentity returns a Host with the ids of the caller and of the payload alone, and Missing as far as it follows
// from them.
func LookIdentity() (*Host, error) { return host.LookIdentity() }

// Sensitive reports whether a variable of this name usually holds a secret, or a way to obtain one. PassEnv passes such
// a variable only if its full name is given.
func Sensitive(name string) bool { return host.Sensitive(name) }

// PassEnv returns the entries of environ ("NAME=value") that match patterns, in the order of environ.
func PassEnv(patterns, environ []string) (passed []string, err error) {
	return host.PassEnv(patterns, environ)
}

// BuildEnv returns the payload's environment: PATH, HOME, LANG and TERM unless Spec.BareEnv is set, then the passed
// variables, then Spec.Env.
func BuildEnv(s *Spec, passed []string, term string) []string { return host.BuildEnv(s, passed, term) }

// SeccompNames returns the names of the built-in filters for Spec.Seccomp. Any other value is a file.
func SeccompNames() []string { return host.SeccompNames() }

// FilterTable returns the effective system-call filter of a Spec's Seccomp on this machine, as text. init reports
// whether process 1 is brig's init, as without Spec.NoInit.
func FilterTable(name string, init bool) (string, error) { return host.FilterTable(name, init) }

// Masks returns the parts of /proc that are hidden or read-only in a jail.
func Masks() (hidden, readOnly []string) { return host.Masks() }

// Given is a file that is a stream of the payload's itself, see Cmd.Stdin.
type Given = run.Given

// The types of a plan.
type (
	Plan        = plan.Plan
	Mode        = plan.Mode
	Passed      = plan.Passed
	Preparation = plan.Preparation
	Step        = plan.Step
)

// Resolve returns the plan of a Runner that makes each jail from the host's root (RunnerOptions.Cold). It is pure.
func Resolve(s *Spec, h *Host) (*Plan, error) { return plan.Resolve(s, h) }

// OtherName returns another name of a command that the host may lack, such as "python3" for "python", or "".
func OtherName(name string) string { return plan.OtherName(name) }
