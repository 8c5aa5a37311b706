package policy

import (
	"strings"
)

// fields are the keys of a policy: the parser and the JSON Schema are made from them. A test compares them with the tags
// of the types.
func (p *Policy) fields() []field {
	return []field{
		{"$schema", "this schema, for editors", str(new(string), "")},
		{"name", "lower-case letters, digits, - _ and .; a file's name without .json", str(&p.Name, namePattern)},
		{"description", "for people", str(&p.Description, "")},
		{"extends", "the profile that this one starts from; keys given here replace its", str(&p.Extends, namePattern)},
		{"open", "lists that are absent allow everything: for policies that stand beside others", boolean(&p.Open)},
		{"commands", "what may be executed: a name, a path of the jail, or \"*\"", commandList(&p.Commands)},
		{"languages", "what code may be written in; \"*\" is any", strs(&p.Languages)},
		{"paths", "files of the host that may be shown, and where", object(p.Paths.fields())},
		{"network", "what may be reached", object(p.Network.fields())},
		{"environment", "variables that may be set", object([]field{
			{"set", "names that a run may set; a glob matches no secret and nothing that steers what a program loads", strs(&p.Environment.Set)},
			{"pass", "names that a run may have from the caller's environment", strs(&p.Environment.Pass)},
		})},
		{"limits", "ceilings: what is above is lowered, what is absent gets the ceiling", object(p.Limits.fields())},
		{"inputs", "bounds of what comes with a request", object(p.Inputs.fields())},
		{"sandbox", "what may be done with kept work areas", object([]field{
			{"operations", "any of " + strings.Join(Operations(), ", "), strs(&p.Sandbox.Operations)},
			{"disk", "most bytes of one", size(&p.Sandbox.Disk)},
			{"inodes", "most files of one", count(&p.Sandbox.Inodes)},
			{"ttl", "longest life without use", duration(&p.Sandbox.TTL)},
		})},
		{"seccomp", "allowed system-call filters; absent: default", strs(&p.Seccomp)},
		{"require", "mechanisms that must be in force", strs(&p.Require)},
		{"optional", "mechanisms that a run may do without", strs(&p.Optional)},
		{"features", "the rest of what a run can ask for: any of " + strings.Join(featureNames(), ", "), strs(&p.Features)},
	}
}

func (p *Paths) fields() []field {
	return []field{
		{"read", "host paths that may be shown", strs(&p.Read)},
		{"write", "host paths that may be written to", strs(&p.Write)},
		{"targets", "paths of the jail where mounts may be put, beside " + strings.Join(WorkAreas(), " "), strs(&p.Targets)},
		{"roots", "directories that may be the jail's root; \"\" is the minimal one", strs(&p.Roots)},
	}
}

func (n *Network) fields() []field {
	return []field{
		{"modes", "allowed modes: none, loopback, egress, host; absent: none and loopback", strs(&n.Modes)},
		{"egress", "rules that cover a run's rules, as `brig run --policy` reads them", egressPolicy(&n.Egress)},
		{"publish", "ports of the host's 127.0.0.1 that a run may listen on", portList(&n.Publish)},
	}
}

func (i *Inputs) fields() []field {
	return []field{
		{"files", "how many files", count(&i.Files)},
		{"file_bytes", "bytes of each file", size(&i.FileBytes)},
		{"total_bytes", "bytes of all files", size(&i.TotalBytes)},
		{"code_bytes", "bytes of code", size(&i.CodeBytes)},
		{"stdin_bytes", "bytes of standard input", size(&i.StdinBytes)},
	}
}

func (c *Command) fields() []field {
	return []field{
		{"command", "a name, a path of the jail, or \"*\"", str(&c.Command, "")},
		{"allow", "patterns of which one must match the arguments", patterns(&c.Allow)},
		{"deny", "patterns of which none may match", patterns(&c.Deny)},
		{"flags", "the only options", strs(&c.Flags)},
		{"deny_flags", "options that must not occur in any spelling", strs(&c.DenyFlags)},
	}
}
