//go:build !amd64

package seccomp

// DefaultBPF is the compiled default profile, and whether there is one for this architecture. Where there is none,
// compile DefaultTable.
func DefaultBPF() ([]byte, bool) { return nil, false }

// GuardBPF is the compiled GuardTable.
func GuardBPF(bool) ([]byte, bool) { return nil, false }
