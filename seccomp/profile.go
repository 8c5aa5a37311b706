package seccomp

// Profile is a seccomp profile in the JSON format of Docker, which is OCI's with archMap, includes and excludes.
type Profile struct {
	DefaultAction   string    `json:"defaultAction"`
	DefaultErrnoRet *uint     `json:"defaultErrnoRet,omitempty"`
	ArchMap         []ArchMap `json:"archMap,omitempty"`
	Architectures   []string  `json:"architectures,omitempty"`
	Flags           []string  `json:"flags,omitempty"`
	Syscalls        []Syscall `json:"syscalls"`
}

// ArchMap is an architecture and the ABIs that a kernel of it also runs.
type ArchMap struct {
	Architecture     string   `json:"architecture"`
	SubArchitectures []string `json:"subArchitectures"`
}

// Syscall is one entry of a profile: what to do with some system calls when the conditions hold.
type Syscall struct {
	// Names are the system calls. Parse puts the old single key "name" here.
	Names    []string `json:"names"`
	Action   string   `json:"action"`
	ErrnoRet *uint    `json:"errnoRet,omitempty"`
	// Args must all hold.
	Args     []Arg   `json:"args,omitempty"`
	Comment  string  `json:"comment,omitempty"`
	Includes *Filter `json:"includes,omitempty"`
	Excludes *Filter `json:"excludes,omitempty"`
}

// Arg compares one argument of a system call. All comparisons are unsigned and 64 bits wide, though the kernel cuts
// many arguments to 32: SCMP_CMP_MASKED_EQ with Value 0xffffffff compares what such a call really sees.
type Arg struct {
	Index uint `json:"index"`
	// Value is what is compared with; for SCMP_CMP_MASKED_EQ, the mask.
	Value uint64 `json:"value"`
	// ValueTwo is read by SCMP_CMP_MASKED_EQ only: what the masked argument must be.
	ValueTwo uint64 `json:"valueTwo,omitempty"`
	Op       string `json:"op"`
}

// Filter is a condition on the target: an entry applies where it holds (Includes) or does not hold (Excludes).
type Filter struct {
	Caps      []string `json:"caps,omitempty"`
	Arches    []string `json:"arches,omitempty"`
	MinKernel string   `json:"minKernel,omitempty"`
}

// ProfileError is what is wrong with a profile, and where.
type ProfileError struct {
	Path   string // a JSON path: "syscalls[3].args[0].op"; "" is the whole file
	Reason string // what is wrong, with the value quoted
	Fix    string // what to write instead
}

// Error is one line: path, reason, fix.
func (e *ProfileError) Error() string {
	s := "seccomp profile: "
	if e.Path != "" {
		s += e.Path + ": "
	}
	s += e.Reason
	if e.Fix != "" {
		s += "; " + e.Fix
	}
	return s
}

func wrong(path, reason, fix string) error { return &ProfileError{path, reason, fix} }
