package policy

import (
	"encoding/json"
	"errors"
	"slices"

	egress "brig/netns/egress/policy"
	"brig/nsjail"
)

// Policy is what a run may be. The zero Policy allows nothing to run. A list that is absent allows nothing, except
// where its field says otherwise; a bound that is absent binds nothing.
type Policy struct {
	// Name appears in refusals and logs: lower-case letters, digits, '-', '_' and '.'.
	Name string `json:"name,omitempty"`
	// Description is for people.
	Description string `json:"description,omitempty"`
	// Extends names the profile that this one starts from: each key given here replaces that profile's; within an object
	// (paths, network, environment, limits, inputs, sandbox), each of its keys does.
	Extends string `json:"extends,omitempty"`
	// Open leaves alone what the policy does not mention: a list that is absent then allows everything instead of nothing.
	// It is for policies that stand beside others, as in a token's block. Paths.Read and Paths.Write count as one list.
	Open bool `json:"open,omitempty"`
	// Commands are what may be executed; "*" is anything.
	Commands []Command `json:"commands,omitzero"`
	// Languages are what code may be written in; "*" is any.
	Languages []string `json:"languages,omitzero"`
	// Paths are the files of the host that may be shown, and where.
	Paths Paths `json:"paths,omitzero"`
	// Network is what may be reached.
	Network Network `json:"network,omitzero"`
	// Environment names the variables that may be set.
	Environment Environment `json:"environment,omitzero"`
	// Limits are ceilings.
	Limits Limits `json:"limits,omitzero"`
	// Inputs bound what comes with a request.
	Inputs Inputs `json:"inputs,omitzero"`
	// Sandbox is what may be done with kept work areas.
	Sandbox Sandbox `json:"sandbox,omitzero"`
	// Seccomp names the allowed system-call filters; absent: "default".
	Seccomp []string `json:"seccomp,omitzero"`
	// Require names mechanisms that must be in force (see nsjail.Mechanisms); they are added to the run's.
	Require []string `json:"require,omitzero"`
	// Optional names mechanisms that a run may do without; others are taken from its list.
	Optional []string `json:"optional,omitzero"`
	// Features are the rest of what a Spec can ask for: see Features.
	Features []string `json:"features,omitzero"`

	sealed bool // Check has found nothing, and it does not change any more
}

// Command is one executable that may be run. In JSON a string is a Command with any arguments.
type Command struct {
	// Command is a name, looked for in the jail's default PATH, an absolute path of the jail, or "*".
	Command string `json:"command"`
	// Allow are patterns of which one must match the arguments; empty: any arguments.
	Allow [][]string `json:"allow,omitzero"`
	// Deny are patterns of which none may match.
	Deny [][]string `json:"deny,omitzero"`
	// Flags, if present, are the only options: each argument that begins with '-' must be one of them.
	Flags []string `json:"flags,omitzero"`
	// DenyFlags are options that must not occur in any spelling.
	DenyFlags []string `json:"deny_flags,omitzero"`
}

// Paths are absolute. A path covers itself and what is below it.
type Paths struct {
	// Read are paths of the host that may be shown in the jail, Write those that it may also write to.
	Read  []string `json:"read,omitzero"`
	Write []string `json:"write,omitzero"`
	// Targets are paths of the jail where mounts may be put, beside the work areas (see WorkAreas).
	Targets []string `json:"targets,omitzero"`
	// Roots are directories of the host that may be the jail's root; "" is the minimal root made of /usr. Absent: that
	// one.
	Roots []string `json:"roots,omitzero"`
}

// Network is what may be reached.
type Network struct {
	// Modes are the allowed network modes; absent: none and loopback.
	Modes []nsjail.Net `json:"modes,omitzero"`
	// Egress covers the rules of a run: each of these must lie within it. Its denials and bounds are added to the run's,
	// and its DNS servers are those that a run may name.
	Egress *egress.Policy `json:"egress,omitempty"`
	// Publish are the ports of the host's 127.0.0.1 that a run may listen on.
	Publish []egress.Ports `json:"publish,omitzero"`
}

// Environment names variables. A name may be a glob, which matches no name that holds a secret or steers what a program
// loads: such a name must be written out.
type Environment struct {
	// Set are the variables that a run may set, Pass those that it may have from the caller's own environment.
	Set  []string `json:"set,omitzero"`
	Pass []string `json:"pass,omitzero"`
}

// Inputs bound a request. Zero: no bound.
type Inputs struct {
	Files      int64        `json:"files,omitempty"`       // how many
	FileBytes  nsjail.Bytes `json:"file_bytes,omitempty"`  // of each
	TotalBytes nsjail.Bytes `json:"total_bytes,omitempty"` // of all files
	CodeBytes  nsjail.Bytes `json:"code_bytes,omitempty"`
	StdinBytes nsjail.Bytes `json:"stdin_bytes,omitempty"`
}

// Sandbox is what may be done with kept work areas.
type Sandbox struct {
	// Operations are of Operations.
	Operations []string `json:"operations,omitzero"`
	// Disk, Inodes and TTL are ceilings of a new one; zero: none.
	Disk   nsjail.Bytes    `json:"disk,omitempty"`
	Inodes int64           `json:"inodes,omitempty"`
	TTL    nsjail.Duration `json:"ttl,omitempty"`
}

// Operations lists what can be done with a sandbox.
func Operations() []string { return []string{"create", "put", "get", "list", "delete"} }

// Any is the name of all commands and of all languages, and the host path of everything is "/".
const Any = "*"

// Features lists what a Spec can ask for beside the fields that a policy has, with a line for a reader.
func Features() map[string]string {
	return map[string]string{
		"tty":           "a terminal of its own",
		"no_init":       "to be process 1 of its pid namespace",
		"user":          "an identity other than 1000:1000",
		"live":          "to see changes of the host's files at once",
		"writable_root": "to write to a copy of its root in memory",
		"priority":      "a share, a reserve or a burst of processor, memory or device traffic before others",
		"cpuset":        "a choice of processors and memory nodes",
		"io":            "limits on block devices, which name files of the host",
		"rlimits":       "resource limits above nsjail's defaults",
		"cgroup_parent": "a control group of the host to be made below",
		"cgroup_files":  "other files of its control group, which can lift the ceilings of memory, processes and processors",
	}
}

// Seal returns a copy that Decide does not check again each time; it must not be changed. An error is the first
// problem.
func (p *Policy) Seal() (*Policy, error) {
	if problems := p.Check(); len(problems) > 0 {
		return nil, errors.New(problems[0])
	}
	c := p.Clone()
	c.sealed = true
	return c, nil
}

// Clone is a copy that shares nothing with p.
func (p *Policy) Clone() *Policy {
	c := *p
	c.sealed = false
	c.Commands = slices.Clone(p.Commands)
	for i, k := range c.Commands {
		c.Commands[i].Allow, c.Commands[i].Deny = cloneLists(k.Allow), cloneLists(k.Deny)
		c.Commands[i].Flags, c.Commands[i].DenyFlags = slices.Clone(k.Flags), slices.Clone(k.DenyFlags)
	}
	for _, l := range []*[]string{&c.Languages, &c.Paths.Read, &c.Paths.Write, &c.Paths.Targets, &c.Paths.Roots,
		&c.Environment.Set,
		&c.Environment.Pass, &c.Limits.Refuse, &c.Sandbox.Operations, &c.Seccomp, &c.Require, &c.Optional, &c.Features} {
		*l = slices.Clone(*l)
	}
	c.Network.Modes, c.Network.Publish = slices.Clone(p.Network.Modes), slices.Clone(p.Network.Publish)
	c.Network.Egress = p.Network.Egress.Clone()
	return &c
}

func cloneLists(l [][]string) [][]string {
	l = slices.Clone(l)
	for i := range l {
		l[i] = slices.Clone(l[i])
	}
	return l
}

// JSON is the policy with what it inherited, in one canonical form, which Parse reads back.
func (p *Policy) JSON() ([]byte, error) {
	flat := *p
	flat.Extends = ""
	return json.MarshalIndent(&flat, "", "  ")
}

// open reports whether a list is left alone.
func open[T any](p *Policy, list []T) bool { return p.Open && list == nil }

// label is the policy's name in a sentence.
func (p *Policy) label() string {
	if p.Name == "" {
		return "policy"
	}
	return p.Name
}
