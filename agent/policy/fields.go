package policy

import "strings"

// fields returns the keys of a policy, from which the parser and the JSON Schema are generated. A test compares them
// with the struct tags.
func (p *Policy) fields() []field {
	return []field{
		key("$schema", "this schema, for editors", new(string)),
		key("name", "lower-case letters, digits, - _ and .; a file's name without .json", &p.Name),
		key("description", "for people", &p.Description),
		key("extends", "the profile that this one starts from; keys given here replace its", &p.Extends),
		key("open", "lists that are absent allow everything: for policies that stand beside others", &p.Open),
		key("commands", "what may be executed: a name, a path of the jail, or \"*\"", &p.Commands),
		key("languages", "what code may be written in; \"*\" is any", &p.Languages),
		key("paths", "files of the host that may be shown, and where", p.Paths.fields()),
		key("network", "what may be reached", p.Network.fields()),
		key("environment", "variables that may be set", []field{
			key("set", "names that a run may set; a glob matches no secret and nothing that steers what a program loads",
				&p.Environment.Set),
			key("pass", "names that a run may have from the caller's environment", &p.Environment.Pass),
		}),
		key("limits", "ceilings: what is above is lowered, what is absent gets the ceiling", p.Limits.fields()),
		key("inputs", "bounds of what comes with a request", p.Inputs.fields()),
		key("sandbox", "what may be done with kept work areas", []field{
			key("operations", "any of "+strings.Join(Operations(), ", "), &p.Sandbox.Operations),
			key("disk", "most bytes of one", &p.Sandbox.Disk),
			key("inodes", "most files of one", &p.Sandbox.Inodes),
			key("ttl", "longest life without use", &p.Sandbox.TTL),
		}),
		key("seccomp", "allowed system-call filters; absent: default", &p.Seccomp),
		key("require", "mechanisms that must be in force", &p.Require),
		key("optional", "mechanisms that a run may do without", &p.Optional),
		key("features", "the rest of what a run can ask for: any of "+strings.Join(featureNames(), ", "), &p.Features),
	}
}

func key(name, doc string, to any) field { return field{Name: name, Doc: doc, To: to} }

func (p *Paths) fields() []field {
	return []field{
		key("read", "host paths that may be shown", &p.Read),
		key("write", "host paths that may be written to", &p.Write),
		key("targets", "paths of the jail where mounts may be put, beside "+strings.Join(WorkAreas(), " "), &p.Targets),
		key("roots", "directories that may be the jail's root; \"\" is the minimal one", &p.Roots),
	}
}

func (n *Network) fields() []field {
	return []field{
		key("modes", "allowed modes: none, loopback, egress, host; absent: none and loopback", &n.Modes),
		key("egress", "rules that cover a run's rules, as `brig run --policy` reads them", &n.Egress),
		key("publish", "ports of the host's 127.0.0.1 that a run may listen on", &n.Publish),
	}
}

func (i *Inputs) fields() []field {
	return []field{
		key("files", "how many files", &i.Files),
		key("file_bytes", "bytes of each file", &i.FileBytes),
		key("total_bytes", "bytes of all files", &i.TotalBytes),
		key("code_bytes", "bytes of code", &i.CodeBytes),
		key("stdin_bytes", "bytes of standard input", &i.StdinBytes),
	}
}

func (c *Command) fields() []field {
	return []field{
		key("command", "a name, a path of the jail, or \"*\"", &c.Command),
		key("allow", "patterns of which one must match the arguments", &c.Allow),
		key("deny", "patterns of which none may match", &c.Deny),
		key("flags", "the only options", &c.Flags),
		key("deny_flags", "options that must not occur in any spelling", &c.DenyFlags),
	}
}
