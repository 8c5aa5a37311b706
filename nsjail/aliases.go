package nsjail

import (
	"brig/cgroup"
	"brig/denial"
	"brig/nsjail/doctor"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/run"
	"brig/nsjail/spec"
)

// The types of a Spec's fields. Bytes is a size, and Duration a time.Duration: both are written to JSON as text, such
// as "64MiB" and "30s". A Denial is documented in package denial.
type (
	MountType = spec.MountType
	Net       = spec.Net
	Bytes     = spec.Bytes
	Duration  = spec.Duration
	Tier      = spec.Tier
	Git       = spec.Git
	Fault     = spec.Fault
	Denial    = denial.Denial
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

// TierProcess is the Spec.Tier of a jail without namespaces.
const TierProcess = spec.TierProcess

// StoreDisk is the Mount.Store of a cow mount, or the Rootfs.Store of a root, whose changes are kept on disk.
const StoreDisk = spec.StoreDisk

// The networks of a Spec.
const (
	NetLoopback = spec.NetLoopback
	NetNone     = spec.NetNone
	NetHost     = spec.NetHost
	NetEgress   = spec.NetEgress
)

// Whose fault an Error is.
const (
	FaultCaller  = spec.FaultCaller
	FaultHost    = spec.FaultHost
	FaultBrig    = spec.FaultBrig
	FaultPayload = spec.FaultPayload
)

// The defaults of a Spec. Sizes are in bytes.
const (
	DefaultWall        = spec.DefaultWall
	DefaultGrace       = spec.DefaultGrace
	DefaultCapture     = spec.DefaultCapture
	DefaultProcesses   = spec.DefaultProcesses
	DefaultCPUPeriod   = spec.DefaultCPUPeriod
	DefaultRootSize    = spec.DefaultRootSize
	DefaultCOWSize     = spec.DefaultCOWSize
	DefaultCOWInodes   = spec.DefaultCOWInodes
	DefaultTmpfsSize   = spec.DefaultTmpfsSize
	DefaultTmpfsInodes = spec.DefaultTmpfsInodes
	DefaultTerminals   = spec.DefaultTerminals
	DefaultInotify     = spec.DefaultInotify
	DefaultWatches     = spec.DefaultWatches
	DefaultUID         = spec.DefaultUID
	DefaultGID         = spec.DefaultGID
	DefaultHostname    = spec.DefaultHostname
	DefaultHome        = spec.DefaultHome
	DefaultPath        = spec.DefaultPath
	DefaultWorkdir     = spec.DefaultWorkdir
	MaxSpecSize        = spec.MaxSpecSize
)

// The values of Spec.Git: how git directories are shown where Spec.Protect has ProtectGit.
const (
	GitData = spec.GitData
	GitRO   = spec.GitRO
	GitRW   = spec.GitRW
)

// GitModes are the values of Spec.Git.
var GitModes = spec.GitModes

// ProtectGit in Spec.Protect stands for files of a repository that the host acts on.
const ProtectGit = spec.ProtectGit

// DefaultRlimits are the resource limits for which Limits.Rlimits has no entry.
var DefaultRlimits = spec.DefaultRlimits

// ParseSpec parses the JSON form of a Spec. Unknown and repeated keys, null and values of the wrong type are errors
// that name the place. Spec.Check examines what the values mean.
func ParseSpec(data []byte) (*Spec, error) { return spec.ParseSpec(data) }

// ParseBytes reads a size such as "64m", "64mb" or "64MiB".
func ParseBytes(s string) (Bytes, error) { return spec.ParseBytes(s) }

// ParseDuration reads "1m30s", or whole or fractional seconds as a bare number.
func ParseDuration(s string) (Duration, error) { return spec.ParseDuration(s) }

// ParseUser reads "UID[:GID]". The GID defaults to the UID.
func ParseUser(s string) (uid, gid uint32, err error) { return spec.ParseUser(s) }

// RlimitNames returns the sixteen resources of getrlimit(2), by the names of ulimit and docker.
func RlimitNames() []string { return spec.RlimitNames() }

// LimitTable returns the rows of all limits, in the order of the fields of Limits.
func LimitTable() []Limit { return spec.LimitTable() }

// Mechanisms lists every mechanism in the order in which a report shows them.
func Mechanisms() []Mechanism { return spec.Mechanisms() }

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

// DelegateScript returns a sh(1) script with which root delegates control groups to a user, given by name or uid.
func DelegateScript(user string) (string, error) { return host.DelegateScript(user) }

// Given is a file that is a stream of the payload's itself, see Cmd.Stdin.
type Given = run.Given

// LiveUsage is what a jail uses now.
type LiveUsage = cgroup.LiveUsage

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

// The types of Examine and Diagnose.
type (
	Facts   = doctor.Facts
	Finding = doctor.Finding
	State   = doctor.State
	Trial   = doctor.Trial
)

// The states of a Finding.
const (
	Present = doctor.Present
	Partial = doctor.Partial
	Missing = doctor.Missing
	Note    = doctor.Note
)

// Diagnose reports what a machine provides for jails, and a remedy for whatever is missing. The first finding, named
// jail, states whether a default jail works.
func Diagnose(f *Facts) []Finding { return doctor.Diagnose(f) }

// Works reports whether a default jail works, according to Diagnose.
func Works(list []Finding) bool { return doctor.Works(list) }
