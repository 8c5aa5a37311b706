package policy

import (
	"fmt"
	"slices"
	"strings"

	"brig/brigd/internal/jailpath"
	"brig/brigd/job"
	"brig/internal/strictjson"
	"brig/internal/words"
)

// programRules are what may be run: commands, and code in languages.
type programRules struct {
	rule
	commands  []Command
	languages []string
	inputs    inputRules
	writes    []string // paths of the host that runs may write to: no program there is an allowed one
}

func (p *Policy) programs() *programRules {
	return &programRules{p.rule(), p.Commands, p.Languages, *p.inputs(), p.Paths.Write}
}

// Bounds of patterns: the time to match is proportional to items times arguments.
const (
	maxCommands     = 1024
	maxPatternItems = 1024
	maxGlob         = 256
)

func (p *programRules) check(c *checker) {
	if len(p.commands) > maxCommands {
		c.add("commands", fmt.Sprintf("%d entries are more than %d", len(p.commands), maxCommands), "write * for all")
	}
	for i, k := range p.commands {
		k.check(c, strictjson.Index("commands", i))
	}
	c.each("languages", p.languages, "is not the name of a language", "write it as in python", func(s string) bool {
		return s == Any || validName(s) || s == "c++"
	})
}

func (k *Command) check(c *checker, at string) {
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

// judge checks the command, or the language and size of the code. Each process of a box is a Job of its own.
func (p *programRules) judge(j *job.Job, v *jailpath.View) *job.Refusal {
	if j.Box {
		return nil // it has no command
	}
	if j.Language == "" {
		if open(p.rule, p.commands) {
			return nil
		}
		return p.command(&j.Spec, v)
	}
	if !open(p.rule, p.languages) && !slices.Contains(p.languages, j.Language) && !slices.Contains(p.languages, Any) {
		next := "Use one of the allowed languages: " + strings.Join(p.languages, ", ") + "."
		if len(p.languages) == 0 {
			next = "Run one of the allowed commands instead: " + p.commandNames() + "."
		}
		return p.refusal("languages", "language_not_allowed", "code in "+words.QuoteASCII(j.Language)+" is not allowed", next)
	}
	return p.inputs.code(int64(len(j.Code)))
}
