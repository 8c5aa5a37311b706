package seccomp

// Profile is a seccomp profile in Docker's JSON format, which is OCI's with archMap, includes and excludes.
type Profile struct {
	DefaultAction   string    `json:"defaultAction"`
	DefaultErrnoRet *uint     `json:"defaultErrnoRet,omitempty"`
	ArchMap         []ArchMap `json:"archMap,omitempty"`
	Architectures   []string  `json:"architectures,omitempty"`
	Flags           []string  `json:"flags,omitempty"`
	Syscalls        []Syscall `json:"syscalls"`
}

// ArchMap is an architecture and the other ABIs that its kernels run.
type ArchMap struct {
	Architecture     string   `json:"architecture"`
	SubArchitectures []string `json:"subArchitectures"`
}

// Syscall is one entry of a profile: the action for some system calls if the conditions hold.
type Syscall struct {
	// Names are the system calls. Parse puts the old single key "name" here.
	Names    []string `json:"names"`
	Action   string   `json:"action"`
	ErrnoRet *uint    `json:"errnoRet,omitempty"`
	// Args are conditions that must all hold.
	Args     []Arg   `json:"args,omitempty"`
	Comment  string  `json:"comment,omitempty"`
	Includes *Filter `json:"includes,omitempty"`
	Excludes *Filter `json:"excludes,omitempty"`
}

// Arg compares one argument of a system call. All comparisons are unsigned and 64 bits wide, though the kernel
// truncates many arguments to 32 bits: SCMP_CMP_MASKED_EQ with Value 0xffffffff compares the bits that such a call
// reads.
type Arg struct {
	Index uint `json:"index"`
	// Value is the operand; for SCMP_CMP_MASKED_EQ it is the mask.
	Value uint64 `json:"value"`
	// ValueTwo is used by SCMP_CMP_MASKED_EQ only: the expected value of the masked argument.
	ValueTwo uint64 `json:"valueTwo,omitempty"`
	Op       string `json:"op"`
}

// Filter is a condition on the target: an entry applies if it holds (Includes) or does not hold (Excludes).
type Filter struct {
	Caps      []string `json:"caps,omitempty"`
	Arches    []string `json:"arches,omitempty"`
	MinKernel string   `json:"minKernel,omitempty"`
}

// ProfileError is an error in a profile, with its place.
type ProfileError struct {
	Path   string // a JSON path: "syscalls[3].args[0].op"; "" is the whole file
	Reason string // what is wrong, with the value quoted
	Fix    string // what to write instead
}

// Error returns one line: path, reason, fix.
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
