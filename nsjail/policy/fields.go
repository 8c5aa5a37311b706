package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"brig/netns/egress"
	"brig/nsjail"
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

func (l *Limits) fields() []field {
	return []field{
		{"wall", "time from start to end", duration(&l.Wall)},
		{"idle", "time without output", duration(&l.Idle)},
		{"grace", "time between SIGTERM and SIGKILL", duration(&l.Grace)},
		{"cpu_time", "processor time of all processes together", duration(&l.CPUTime)},
		{"cpus", "processors' worth of time", number(&l.CPUs)},
		{"memory", "memory, page cache and tmpfs", size(&l.Memory)},
		{"memory_swap", "memory and swap together", size(&l.MemorySwap)},
		{"processes", "processes and threads at once", count(&l.Processes)},
		{"output", "bytes kept of stdout and of stderr", size(&l.Output)},
		{"output_limit", "bytes of stdout and stderr together that end the run", size(&l.OutputLimit)},
		{"tmpfs", "bytes of each tmpfs that is mounted", size(&l.Tmpfs)},
		{"tmpfs_inodes", "files of each tmpfs that is mounted", count(&l.TmpfsInodes)},
		{"root_size", "bytes of a writable root", size(&l.RootSize)},
		{"file_size", "bytes of each file that is written", size(&l.FileSize)},
		{"open_files", "open files of each process", count(&l.OpenFiles)},
		{"refuse", "ceilings above which a run is refused instead of narrowed", strs(&l.Refuse)},
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

func object(fields []field) value {
	return value{func(r *reader, path string) error { return r.object(path, fields) }, func() map[string]any { return objectSchema(fields) }}
}

func str(to *string, pattern string) value {
	return value{func(r *reader, path string) error { return text(r, path, to) }, func() map[string]any {
		s := map[string]any{"type": "string"}
		if pattern != "" {
			s["pattern"] = pattern
		}
		return s
	}}
}

func boolean(to *bool) value {
	return value{func(r *reader, path string) error {
		t, err := r.token(path)
		if err != nil {
			return err
		}
		b, ok := t.(bool)
		if !ok {
			return r.wrongType(path, t, "true or false")
		}
		*to = b
		return nil
	}, func() map[string]any { return map[string]any{"type": "boolean"} }}
}

func text[T ~string](r *reader, path string, to *T) error {
	t, err := r.token(path)
	if err != nil {
		return err
	}
	s, ok := t.(string)
	if !ok {
		return r.wrongType(path, t, "a string")
	}
	*to = T(s)
	return nil
}

func strs[T ~string](to *[]T) value {
	return value{func(r *reader, path string) error {
		*to = []T{}
		return r.list(path, func(path string) error {
			var s T
			err := text(r, path, &s)
			*to = append(*to, s)
			return err
		})
	}, func() map[string]any { return list(map[string]any{"type": "string"}) }}
}

func patterns(to *[][]string) value {
	return value{func(r *reader, path string) error {
		*to = [][]string{}
		return r.list(path, func(path string) error {
			var p []string
			err := strs(&p).read(r, path)
			*to = append(*to, p)
			return err
		})
	}, func() map[string]any { return list(strs(new([]string)).schema()) }}
}

func size(to *nsjail.Bytes) value {
	return quantity("a size, as in \"64m\"", `^[0-9]+([kKmMgGtTpP]?([iI]?[bB])?)$`, func(s string) (err error) {
		*to, err = positive(nsjail.ParseBytes(s))
		return err
	})
}

func duration(to *nsjail.Duration) value {
	return quantity("a duration, as in \"30s\"", `^[0-9.]+(ns|us|µs|ms|s|m|h)?([0-9.]+(ns|us|µs|ms|s|m|h))*$`, func(s string) (err error) {
		*to, err = positive(nsjail.ParseDuration(s))
		return err
	})
}

func quantity(want, pattern string, parse func(string) error) value {
	return value{func(r *reader, path string) error { return r.quantity(path, want, parse) },
		func() map[string]any {
			return map[string]any{"anyOf": []any{map[string]any{"type": "string", "pattern": pattern}, map[string]any{"type": "number", "exclusiveMinimum": 0}}}
		}}
}

func count(to *int64) value {
	return value{func(r *reader, path string) error {
		n, err := r.number(path, "a whole number")
		if err != nil {
			return err
		}
		if *to, err = positive(strconv.ParseInt(n, 10, 64)); errors.Is(err, strconv.ErrSyntax) || errors.Is(err, strconv.ErrRange) {
			err = fmt.Errorf("%s is not a whole number of at most 63 bits; write one", quote(n))
		}
		return wrap(path, err)
	}, func() map[string]any { return map[string]any{"type": "integer", "minimum": 1} }}
}

func number(to *float64) value {
	return value{func(r *reader, path string) error {
		n, err := r.number(path, "a number")
		if err != nil {
			return err
		}
		if *to, err = strconv.ParseFloat(n, 64); err != nil || !(*to > 0) || *to > 1<<16 {
			err = fmt.Errorf("%s is not between 0 and 65536; write it as in 0.5 or 2", quote(n))
		}
		return wrap(path, err)
	}, func() map[string]any {
		return map[string]any{"type": "number", "exclusiveMinimum": 0, "maximum": 1 << 16}
	}}
}

// number reads a number's text.
func (r *reader) number(path, want string) (string, error) {
	t, err := r.token(path)
	if err != nil {
		return "", err
	}
	n, ok := t.(json.Number)
	if !ok {
		return "", r.wrongType(path, t, want)
	}
	return n.String(), nil
}

func wrap(path string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

func commandList(to *[]Command) value {
	return value{func(r *reader, path string) error {
		*to = []Command{}
		return r.list(path, func(path string) error {
			var c Command
			t, err := r.token(path)
			if err != nil {
				return err
			}
			switch v := t.(type) {
			case string:
				c.Command = v
			case json.Delim:
				if v != '{' {
					return r.wrongType(path, t, "a string or an object")
				}
				err = r.keys(path, c.fields())
			default:
				return r.wrongType(path, t, "a string or an object")
			}
			*to = append(*to, c)
			return err
		})
	}, func() map[string]any {
		one := objectSchema((&Command{}).fields())
		one["required"] = []string{"command"}
		return list(map[string]any{"anyOf": []any{map[string]any{"type": "string"}, one}})
	}}
}

// egressPolicy reads what may be reached by the reader that a policy file of `brig run` has, which is as strict.
func egressPolicy(to **egress.Policy) value {
	return value{func(r *reader, path string) error {
		var raw json.RawMessage
		if err := r.json.Decode(&raw); err != nil {
			return fmt.Errorf("%s: %s is not JSON: %w; correct it", r.where(), path, err)
		}
		p, err := egress.ParsePolicy(raw)
		var problem *egress.Problem
		if errors.As(err, &problem) {
			return fmt.Errorf("%s: %s; %s", strings.TrimSuffix(path+"."+problem.Path, "."), problem.Reason, problem.Fix)
		}
		*to = p
		return wrap(path, err)
	}, egressSchema}
}

func portList(to *[]egress.Ports) value {
	return value{func(r *reader, path string) error {
		*to = []egress.Ports{}
		return r.list(path, func(path string) error {
			var p egress.Ports
			var raw json.RawMessage
			if err := r.json.Decode(&raw); err != nil {
				return fmt.Errorf("%s: %s is not JSON: %w; correct it", r.where(), path, err)
			}
			err := p.UnmarshalJSON(raw)
			*to = append(*to, p)
			return wrap(path, err)
		})
	}, func() map[string]any { return list(portsSchema()) }}
}
