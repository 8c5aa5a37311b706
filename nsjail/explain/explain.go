// Package explain shows what a start would do, and does none of it: Look reads the machine, Resolve decides, and the
// Plan lists every system call in order. `brig explain` prints it. The same Spec and Host have the same Plan, which is
// what a start performs, and what nsjail.Cmd.Plan returns after one.
package explain

import (
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"
)

type (
	// Host has the facts of the machine and of the caller that a Spec depends on.
	Host = host.Host
	// Kernel is a version of Linux.
	Kernel = host.Kernel
	// Plan is everything that is decided for a jail. String prints it; Enforced names what enforces each mechanism.
	Plan = plan.Plan
	// Step is a system call of a Plan as it is printed.
	Step = plan.Step
	// Passed is a mount that the keeper makes, and passes to the jail as a descriptor.
	Passed = plan.Passed
	// Mode is how a jail starts. The zero Mode is that of a cold Runner.
	Mode = plan.Mode
)

// Look reads the facts of the machine that a Spec depends on. It changes nothing. Close the Host after its use.
func Look(s *spec.Spec) (*Host, error) { return host.Look(s) }

// LookIdentity returns a Host with the ids of the caller and of the payload alone, and Missing as far as it follows
// from them.
func LookIdentity() (*Host, error) { return host.LookIdentity() }

// Resolve returns the plan of a Runner that makes each jail from the host's root (nsjail.RunnerOptions.Cold). It is
// pure. The error is the one that a start would return.
func Resolve(s *spec.Spec, h *Host) (*Plan, error) { return plan.Resolve(s, h) }

// FilterTable returns the effective system-call filter of a Spec's Seccomp on this machine, as text. init reports
// whether process 1 is brig's init, as without Spec.NoInit.
func FilterTable(name string, init bool) (string, error) { return host.FilterTable(name, init) }

// Masks returns the parts of /proc that are hidden or read-only in a jail.
func Masks() (hidden, readOnly []string) { return host.Masks() }
