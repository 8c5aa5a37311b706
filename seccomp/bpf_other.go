//go:build !amd64

package seccomp

// DefaultBPF returns the compiled default profile, and whether there is one for this architecture. If there is none,
// compile the default profile.
func DefaultBPF() ([]byte, bool) { return nil, false }

// GuardBPF returns the compiled GuardTable.
func GuardBPF(bool) ([]byte, bool) { return nil, false }

// OpenBPF returns the compiled OpenTable.
func OpenBPF() ([]byte, bool) { return nil, false }

// ProcessBPF returns the compiled ProcessTable.
func ProcessBPF(bool, bool) ([]byte, bool) { return nil, false }
