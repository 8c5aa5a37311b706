package policy

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"brig/internal/strictjson"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// Check returns every problem of the policy that does not depend on the machine. Each is one line with the JSON path
// and the remedy. Parse reports the same problems.
func (p *Policy) Check() (problems []string) {
	c := &checker{}
	for _, n := range []struct{ path, name string }{{"name", p.Name}, {"extends", p.Extends}} {
		if n.name != "" && !validName(n.name) {
			c.add(n.path, words.QuoteASCII(n.name)+" is not a profile's name",
				"write at most 64 lower-case letters, digits, '-', '_' and '.'")
		}
	}
	if len(p.Commands) > maxCommands {
		c.add("commands", fmt.Sprintf("%d entries are more than %d", len(p.Commands), maxCommands), "write * for all")
	}
	for i, k := range p.Commands {
		c.command(strictjson.Index("commands", i), k)
	}
	c.each("languages", p.Languages, "is not the name of a language", "write it as in python", func(s string) bool {
		return s == Any || validName(s) || s == "c++"
	})
	c.paths("paths.read", p.Paths.Read, false)
	c.paths("paths.write", p.Paths.Write, false)
	c.paths("paths.targets", p.Paths.Targets, false)
	c.paths("paths.roots", p.Paths.Roots, true)
	c.each("images", p.Images, "is not the name of an image", "write it as brigd's setting image does, or *", validImage)
	c.each("shares", p.Shares, "is not a share with its highest mode", "write it as in data, data:ro or *", validShare)
	c.oneOf("network.modes", modeNames(p.Network.Modes), []string{"none", "loopback", "egress", "host"})
	if p.Network.Egress != nil {
		for _, e := range p.Network.Egress.Check() {
			c.add(strings.TrimSuffix("network.egress."+e.Path, "."), e.Reason, e.Fix)
		}
	}
	for i, ports := range p.Network.Publish {
		if ports.From == 0 || ports.From > ports.To {
			c.add(strictjson.Index("network.publish", i), "the range is empty or has port 0", "write ports from 1 to 65535")
		}
	}
	c.each("environment.set", p.Environment.Set, "is not a name of variables", "write it as in LC_*", validVariable)
	c.each("environment.pass", p.Environment.Pass, "is not a name of variables", "write it as in LC_*", validVariable)
	c.limits(p)
	c.oneOf("sandbox.operations", p.Sandbox.Operations, operations)
	c.each("seccomp", p.Seccomp, "is not the name of a filter", "write default, another preset, unconfined, or a path",
		func(s string) bool {
			return s != "" && s == strings.TrimSpace(s)
		})
	c.oneOf("require", p.Require, mechanismNames())
	c.oneOf("optional", p.Optional, mechanismNames())
	c.oneOf("features", p.Features, featureNames())
	for i, name := range p.Require {
		if why := p.unrequirable(name); why != "" {
			c.add(strictjson.Index("require", i), words.QuoteASCII(name)+" "+why, "set the ceiling, or leave it out")
		}
		if slices.Contains(p.Optional, name) {
			c.add("require", words.QuoteASCII(name)+" is also listed under optional", "remove one of the two")
		}
	}
	return c.problems
}

// unrequirable returns why a run under this policy could not have the mechanism, or "". nsjail refuses to require a
// limit that is not set, and only a ceiling sets a limit for every run.
func (p *Policy) unrequirable(name string) string {
	for i := range limitTable() {
		r := &limitTable()[i]
		if slices.Contains(strings.Fields(r.Mechanism), name) && !p.sets(r.Name) {
			return "is a limit for which there is no ceiling here"
		}
	}
	return ""
}

// sets reports whether a ceiling sets the limit for every run.
func (p *Policy) sets(limit string) bool {
	return slices.ContainsFunc(p.ceilings(), func(c strictjson.Field) bool {
		byDefault, _ := limitOf(&nsjail.Spec{}, limit)
		return c.Name == limit && byDefault > 0 && number(c.To) > 0
	})
}

// checker collects problems, so that Check returns all of them.
type checker struct{ problems []string }

func (c *checker) add(path, reason, fix string) {
	c.problems = append(c.problems, path+": "+reason+"; "+fix)
}

func (c *checker) each(path string, list []string, reason, fix string, ok func(string) bool) {
	for i, s := range list {
		if !ok(s) {
			c.add(strictjson.Index(path, i), words.QuoteASCII(s)+" "+reason, fix)
		}
	}
}

func (c *checker) oneOf(path string, list, known []string) {
	c.each(path, list, "is not known here", "write one of "+strings.Join(known, ", "),
		func(s string) bool { return slices.Contains(known, s) })
}

func (c *checker) paths(field string, list []string, empty bool) {
	c.each(field, list, "is not an absolute path without . and ..", "write it as in /srv/data", func(s string) bool {
		return empty && s == "" || cleanAbs(s)
	})
}

// Bounds of patterns: the time to match is proportional to items times arguments.
const (
	maxCommands     = 1024
	maxPatternItems = 1024
	maxGlob         = 256
)

// cleanAbs reports whether a path is absolute and clean.
func cleanAbs(s string) bool {
	return strings.HasPrefix(s, "/") && path.Clean(s) == s && !strings.ContainsRune(s, 0)
}

// validVariable reports whether s is a variable's name or a glob for path.Match.
func validVariable(s string) bool {
	_, err := path.Match(s, "")
	return err == nil && s != "" && !strings.ContainsAny(s, "=\x00")
}

func (c *checker) command(at string, k Command) {
	switch {
	case k.Command == "":
		c.add(at, "it has no command", "name one, as in python3")
	case k.Command == Any, strings.HasPrefix(k.Command, "/") && cleanAbs(k.Command) && k.Command != "/":
	case strings.ContainsAny(k.Command, "/\x00") || k.Command == "." || k.Command == "..":
		c.add(at, words.QuoteASCII(k.Command)+" is neither a name nor an absolute path without . and ..",
			"write it as in python3 or /usr/bin/python3")
	case strings.ContainsAny(k.Command, "*?["):
		c.add(at, words.QuoteASCII(k.Command)+" is a glob", "name each command, or write * for all")
	case strings.ContainsAny(k.Command, " \t\n"):
		c.add(at, words.QuoteASCII(k.Command)+" has a blank", "name the executable alone; its arguments are for allow")
	}
	items := 0
	for _, pattern := range slices.Concat(k.Allow, k.Deny) {
		items += len(pattern)
		for _, item := range pattern {
			if len(item) > maxGlob && strings.ContainsAny(item, "*?") {
				c.add(at, fmt.Sprintf("an item with a wildcard has %d bytes, more than %d", len(item), maxGlob), "shorten it")
			}
		}
	}
	if items > maxPatternItems {
		c.add(at, fmt.Sprintf("its patterns have %d items together, more than %d", items, maxPatternItems),
			"allow fewer forms")
	}
	c.each(at+".flags", k.Flags, "is not an option", "write it as in -l, --long or --output=", func(f string) bool {
		return option(strings.TrimSuffix(f, "="))
	})
	c.each(at+".deny_flags", k.DenyFlags, "is not an option", "write it as in -o, --output or -exec", option)
}

// option reports whether s is the name of an option, without a value.
func option(s string) bool {
	name := strings.TrimLeft(s, "-")
	return len(s) > len(name) && len(s)-len(name) <= 2 && name != "" && !strings.ContainsAny(name, "= \x00")
}

func (c *checker) limits(p *Policy) {
	l, names := &p.Limits, []string{}
	for _, k := range p.ceilings() {
		names = append(names, k.Name)
		if number(k.To) < 0 {
			c.add("limits."+k.Name, "it is negative", "write a bound, or leave it out for none")
		}
	}
	c.oneOf("limits.refuse", l.Refuse, names)
	switch {
	case !(l.CPUs >= 0 && l.CPUs <= 1<<16):
		c.add("limits.cpus", fmt.Sprint(l.CPUs, " is not a number of processors"), "write it as in 0.5 or 2")
	case l.CPUs > 0 && l.CPUs < 0.01:
		c.add("limits.cpus", "it is less than the 1ms in 100ms that the kernel gives at least", "write at least 0.01")
	case l.Memory > 0 && l.Memory < 128<<10:
		c.add("limits.memory", l.Memory.String()+" is less than the kernel's own needs for one process",
			"write at least 128k")
	case l.MemorySwap > 0 && l.Memory == 0:
		c.add("limits.memory_swap", "it counts memory and swap together, and there is no ceiling of memory",
			"set memory as well")
	case l.MemorySwap > 0 && l.MemorySwap < l.Memory:
		c.add("limits.memory_swap", "it counts memory and swap together, and is below memory", "write at least "+
			l.Memory.String())
	}
}

var mechanismNames = sync.OnceValue(func() []string {
	return texts(spec.Mechanisms(), func(m spec.Mechanism) string { return m.Name })
})

func featureNames() []string { return slices.Sorted(maps.Keys(features)) }
