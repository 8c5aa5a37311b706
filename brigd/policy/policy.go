package policy

import (
	egress "brig/netns/egress/policy"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// Policy is the set of rules for a run. The zero Policy refuses every run. An absent list allows nothing. An absent
// bound is no limit, except where the comment of the field states another default.
type Policy struct {
	// Name is the policy's name in refusals and logs. It may have lower-case letters, digits, '-', '_' and '.'.
	Name string `json:"name,omitempty"`
	// Description is free text for the reader.
	Description string `json:"description,omitempty"`
	// Extends names the profile to inherit from. A key given here replaces the inherited one. Within the objects paths,
	// network, environment, limits, inputs and sandbox, keys are replaced one by one.
	Extends string `json:"extends,omitempty"`
	// Open inverts the default: an absent list allows everything instead of nothing. It is meant for policies that are
	// combined with others, as in a token's block. Paths.Read and Paths.Write count as one list.
	Open bool `json:"open,omitempty"`
	// Commands are the commands that may be executed; "*" is any command.
	Commands []Command `json:"commands,omitzero"`
	// Languages are the languages in which code may be sent; "*" is any language.
	Languages []string `json:"languages,omitzero"`
	// Paths are the files of the host that may be mounted, and the allowed mount targets.
	Paths Paths `json:"paths,omitzero"`
	// Shares are the operator's directories that a run may mount, as NAME or NAME:MODE: at most that mode, ro, cow or
	// rw. The name "*" is any. To apply the changes of a cow takes rw.
	Shares []string `json:"shares,omitzero"`
	// Images are the operator's images that may be the root, by their names in brigd --image; "*" is any.
	Images []string `json:"images,omitzero"`
	// Network limits the network access.
	Network Network `json:"network,omitzero"`
	// Environment names the variables that may be set.
	Environment Environment `json:"environment,omitzero"`
	// Limits are ceilings.
	Limits Limits `json:"limits,omitzero"`
	// Inputs limits the files, code and standard input of a request.
	Inputs Inputs `json:"inputs,omitzero"`
	// Sandbox limits the operations on sandboxes, and their size.
	Sandbox Sandbox `json:"sandbox,omitzero"`
	// Seccomp names the allowed system-call filters. If absent, only "default" is allowed.
	Seccomp []string `json:"seccomp,omitzero"`
	// Require names mechanisms that must be in force (see spec.Mechanisms). They are added to Spec.Require.
	Require []string `json:"require,omitzero"`
	// Optional names the mechanisms that a Spec may list as optional. All others are removed from Spec.Optional.
	Optional []string `json:"optional,omitzero"`
	// Features are the allowed features: see features.
	Features []string `json:"features,omitzero"`

	sealed bool // set by Seal: Check found no problem, and the policy is not modified
}

// Command is one executable that may be run. In JSON, a plain string is a Command that allows any arguments.
type Command struct {
	// Command is a file name that is looked up in the jail's default PATH, an absolute path in the jail, or "*".
	Command string `json:"command"`
	// Allow is a list of patterns. At least one must match the arguments; an empty list allows any arguments.
	Allow [][]string `json:"allow,omitzero"`
	// Deny is a list of patterns. None may match the arguments.
	Deny [][]string `json:"deny,omitzero"`
	// Flags, if present, lists all allowed options: each argument that begins with '-' must be one of them.
	Flags []string `json:"flags,omitzero"`
	// DenyFlags lists forbidden options. Every spelling of them is refused.
	DenyFlags []string `json:"deny_flags,omitzero"`
}

// Paths lists absolute paths. A path includes everything below it.
type Paths struct {
	// Read are paths of the host that may be mounted in the jail. Write are those that may be mounted writable.
	Read  []string `json:"read,omitzero"`
	Write []string `json:"write,omitzero"`
	// Targets are additional mount targets in the jail. The paths in workAreas are always allowed.
	Targets []string `json:"targets,omitzero"`
	// Roots are directories of the host that may be the jail's root; "" is the minimal root made of /usr. If absent,
	// only the minimal root is allowed.
	Roots []string `json:"roots,omitzero"`
}

// Network limits the network access of a run.
type Network struct {
	// Modes are the allowed network modes. If absent, none and loopback are allowed.
	Modes []spec.Net `json:"modes,omitzero"`
	// Egress is the upper bound of a run's egress rules: each rule of the run must lie within it. Its denials and
	// bounds are added to the run's. A run may name only DNS servers listed here.
	Egress *egress.Policy `json:"egress,omitempty"`
	// Publish are the ports of the host's 127.0.0.1 on which a run may listen.
	Publish []egress.Ports `json:"publish,omitzero"`
}

// Environment lists names of variables. A name may be a glob. A glob never matches the name of a secret, or of a
// variable that changes which code a program loads; such names must be written out.
type Environment struct {
	// Set are the variables that a run may set. Pass are those that it may take from the caller's environment.
	Set  []string `json:"set,omitzero"`
	Pass []string `json:"pass,omitzero"`
}

// Inputs limits a request. Zero means no limit.
type Inputs struct {
	Files      int64        `json:"files,omitempty"`       // number of files
	FileBytes  nsjail.Bytes `json:"file_bytes,omitempty"`  // size limit of each file
	TotalBytes nsjail.Bytes `json:"total_bytes,omitempty"` // size limit of all files together
	CodeBytes  nsjail.Bytes `json:"code_bytes,omitempty"`
	StdinBytes nsjail.Bytes `json:"stdin_bytes,omitempty"`
}

// Sandbox limits the operations on sandboxes, and their size.
type Sandbox struct {
	// Operations lists the allowed operations: see operations.
	Operations []string `json:"operations,omitzero"`
	// Disk, Inodes and TTL are the ceilings of a new sandbox. Zero means no ceiling.
	Disk   nsjail.Bytes    `json:"disk,omitempty"`
	Inodes int64           `json:"inodes,omitempty"`
	TTL    nsjail.Duration `json:"ttl,omitempty"`
}

// Any matches every command or every language in a list. (The host path that includes everything is "/".)
const Any = "*"
