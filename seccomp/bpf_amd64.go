package seccomp

import "embed"

//go:generate go test -run BPFIsFresh$ -update .

//go:embed default_amd64.bpf
var defaultBPF string

// DefaultBPF returns the compiled default profile, and whether there is one for this architecture. If there is none,
// compile the default profile.
func DefaultBPF() ([]byte, bool) { return []byte(defaultBPF), true }

//go:embed guard_amd64.bpf
var guardBPF string

//go:embed guard_files_amd64.bpf
var guardFilesBPF string

// GuardBPF returns the compiled GuardTable.
func GuardBPF(files bool) ([]byte, bool) {
	if files {
		return []byte(guardFilesBPF), true
	}
	return []byte(guardBPF), true
}

//go:embed open_amd64.bpf
var openBPF string

// OpenBPF returns the compiled OpenTable.
func OpenBPF() ([]byte, bool) { return []byte(openBPF), true }

//go:embed process_*amd64.bpf
var processBPF embed.FS

// ProcessBPF returns the compiled ProcessTable.
func ProcessBPF(network, owns bool) ([]byte, bool) {
	bpf, err := processBPF.ReadFile(processFile(network, owns))
	return bpf, err == nil
}
