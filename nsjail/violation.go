package nsjail

import (
	"strconv"

	"brig/nsjail/internal/launcher"
	"brig/seccomp"
)

// Violation is a system call that the filter answers by killing the process. If init listens to the filter, it is the
// payload's own last call, or else the first such call in the jail. Every process that makes one is killed.
type Violation struct {
	Syscall string `json:"syscall,omitempty"` // its name; "" if unknown
	Number  int    `json:"number"`
	Arch    string `json:"arch"`  // the ABI, which determines the meaning of the number
	Count   int    `json:"count"` // of all violations
}

// newViolation names the call that init has reported; nil if there was none.
func newViolation(v launcher.Violation) *Violation {
	if v.Count == 0 {
		return nil
	}
	out := &Violation{Number: v.Nr, Count: v.Count}
	out.Syscall, out.Arch = seccomp.CallName(int32(v.Nr), v.Arch)
	return out
}

// String returns the call for a reader: "ptrace", "getpid of the i386 ABI".
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
