package nsjail

import (
	"strconv"

	"brig/nsjail/internal/launcher"
	"brig/seccomp"
)

// recordExit stores what init has seen beside the payload's end: violations of the filter, and the state of the disks.
func (c *Cmd) recordExit(rep *launcher.Report) {
	o := &c.state
	o.violation, o.listened = rep.Violation, c.plan.Heard != nil
	o.disk = rep.Disk.Used
	for i, targets := range c.plan.Disks {
		if rep.Disk.Full&(1<<i) != 0 {
			o.full = append(o.full, targets...)
		}
	}
}

// Violation is a system call that the filter answers with death. Where init listens to the filter, it is the payload's
// own last call, or else the first of any process of the jail; every process that makes one is killed.
type Violation struct {
	Syscall string `json:"syscall,omitempty"` // its name; "" where nobody knows one
	Number  int    `json:"number"`
	Arch    string `json:"arch"`  // the ABI: a number means nothing without it
	Count   int    `json:"count"` // of all violations
}

// newViolation names what init has seen; nil if nothing.
func newViolation(v launcher.Violation) *Violation {
	if v.Count == 0 {
		return nil
	}
	out := &Violation{Number: v.Nr, Count: v.Count}
	out.Syscall, out.Arch = seccomp.CallName(int32(v.Nr), v.Arch)
	return out
}

// String is the call for a reader: "ptrace", "getpid of the i386 ABI".
func (v *Violation) String() string {
	name := v.Syscall
	if name == "" {
		name = "system call " + strconv.Itoa(v.Number)
	}
	if v.Arch != seccomp.NativeABI() {
		name += " of the " + v.Arch + " ABI"
	}
	return name
}
