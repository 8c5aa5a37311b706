package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	egress "brig/netns/egress/policy"
)

// facts are the entries of one list of a policy as text, for comparison.
type facts struct {
	field  string
	items  []string
	denies bool // more items allow less
}

func (p *Policy) facts() []facts {
	var commands []string
	for _, k := range p.Commands {
		commands = append(commands, commandText(k))
	}
	var reach, denied []string
	if e := p.Network.Egress; e != nil {
		for _, r := range egress.Effective(e) {
			if r.Verdict == "allow" {
				reach = append(reach, rowText(r))
			} else {
				denied = append(denied, rowText(r))
			}
		}
	}
	var publish []string
	for _, r := range p.Network.Publish {
		publish = append(publish, r.String())
	}
	roots := slices.Clone(p.Paths.Roots)
	for i, r := range roots {
		if r == "" {
			roots[i] = "the minimal root"
		}
	}
	all := []facts{
		{"commands", commands, false}, {"languages", p.Languages, false},
		{"paths.read", p.Paths.Read, false}, {"paths.write", p.Paths.Write, false}, {"paths.targets", p.Paths.Targets, false},
		{"paths.roots", roots, false},
		{"network.modes", toStrings(p.Network.Modes), false}, {"network.egress", reach, false},
		{"network.egress.deny", denied, true}, {"network.publish", publish, false},
		{"environment.set", p.Environment.Set, false}, {"environment.pass", p.Environment.Pass, false},
		{"limits.refuse", p.Limits.Refuse, true}, {"sandbox.operations", p.Sandbox.Operations, false},
		{"seccomp", p.Seccomp, false}, {"require", p.Require, true}, {"optional", p.Optional, false},
		{"features", p.Features, false},
	}
	for i := range all {
		if f := &all[i]; p.Open && f.items == nil && !f.denies {
			f.items = []string{"anything"}
		}
	}
	return all
}

// commandText returns a command as one line.
func commandText(k Command) string {
	if k.Allow == nil && k.Deny == nil && k.Flags == nil && k.DenyFlags == nil {
		return k.Command
	}
	var parts []string
	for _, list := range []struct {
		word     string
		patterns [][]string
	}{{"only ", k.Allow}, {"never ", k.Deny}} {
		for _, a := range list.patterns {
			parts = append(parts, list.word+show(a))
		}
	}
	if k.Flags != nil {
		parts = append(parts, "with no options but "+orNone(k.Flags))
	}
	if k.DenyFlags != nil {
		parts = append(parts, "without the options "+orNone(k.DenyFlags))
	}
	return k.Command + " (" + strings.Join(parts, "; ") + ")"
}

// numeric is a bound of a policy. 0 means no bound.
type numeric struct {
	field string
	value int64
	show  func(int64) string
}

func (p *Policy) numbers() (list []numeric) {
	for i := range ceilings {
		c := &ceilings[i]
		list = append(list, numeric{"limits." + c.name, c.bound(&p.Limits), c.show})
	}
	i, s := p.Inputs, p.Sandbox
	list = append(list, numeric{"inputs.files", i.Files, showCount},
		numeric{"inputs.file_bytes", int64(i.FileBytes), showBytes},
		numeric{"inputs.total_bytes", int64(i.TotalBytes), showBytes},
		numeric{"inputs.code_bytes", int64(i.CodeBytes), showBytes},
		numeric{"inputs.stdin_bytes", int64(i.StdinBytes), showBytes}, numeric{"sandbox.disk", int64(s.Disk), showBytes},
		numeric{"sandbox.inodes", s.Inodes, showCount}, numeric{"sandbox.ttl", int64(s.TTL), showTime})
	e := p.Network.Egress
	if e == nil {
		e = &egress.Policy{}
	}
	for _, b := range bounds {
		list = append(list, numeric{"network.egress." + b.name, b.get(e), b.show})
	}
	return list
}

// Change is a difference between two policies in one field.
type Change struct {
	Field string `json:"field"`
	// More is what only the second policy allows, Less what only the first allows.
	More []string `json:"more,omitempty"`
	Less []string `json:"less,omitempty"`
}

// Diff returns, field by field, what b allows that a does not, and the reverse. An entry in only one of the lists is a
// difference even if another entry includes it.
func Diff(a, b *Policy) (changes []Change) {
	fa, fb := a.facts(), b.facts()
	for i := range fa {
		c := Change{Field: fa[i].field, More: minus(fb[i].items, fa[i].items), Less: minus(fa[i].items, fb[i].items)}
		if fa[i].denies {
			c.More, c.Less = prefixed("no longer ", c.Less), prefixed("now ", c.More)
		}
		if len(c.More)+len(c.Less) > 0 {
			changes = append(changes, c)
		}
	}
	na, nb := a.numbers(), b.numbers()
	for i := range na {
		from, to := na[i].value, nb[i].value
		if from == to {
			continue
		}
		text := []string{fmt.Sprintf("%s instead of %s", orAny(nb[i]), orAny(na[i]))}
		if to == 0 || from != 0 && to > from {
			changes = append(changes, Change{Field: na[i].field, More: text})
		} else {
			changes = append(changes, Change{Field: na[i].field, Less: text})
		}
	}
	return changes
}

func orAny(n numeric) string {
	if n.value == 0 {
		return "any"
	}
	return n.show(n.value)
}

func minus(list, less []string) (left []string) {
	if slices.Contains(less, Any) { // less includes everything
		return nil
	}
	for _, s := range list {
		if !slices.Contains(less, s) && !slices.Contains(left, s) {
			left = append(left, s)
		}
	}
	return left
}

func prefixed(word string, list []string) (out []string) {
	for _, s := range list {
		out = append(out, word+s)
	}
	return out
}

// Explain describes the policy in sentences.
func Explain(p *Policy) (said []string) {
	say := func(format string, a ...any) { said = append(said, fmt.Sprintf(format, a...)) }
	if p.Description != "" {
		said = append(said, sentence(p.Description))
	}
	if p.Open {
		say("What it does not mention it leaves alone: it is to stand beside other policies.")
	}
	say("Commands that a request may name: %s.", orNone(p.facts()[0].items))
	say("Languages that it may send code in: %s. What code, or a command, executes later is not looked at; the jail "+
		"holds it.", orNone(p.facts()[1].items))
	words := map[string]string{
		"paths.read": "Paths of the host that may be shown", "paths.write": "Paths of the host that may be written to",
		"paths.targets": "Places for mounts beside the work areas",
		"paths.roots":   "Roots", "network.modes": "Network modes", "network.egress": "What may be reached",
		"network.egress.deny": "What is never reached", "network.publish": "Ports of 127.0.0.1 that may be published",
		"environment.set": "Variables that may be set", "environment.pass": "Variables that may be passed from the caller",
		"limits.refuse":      "Ceilings that refuse instead of narrowing",
		"sandbox.operations": "What may be done with sandboxes", "seccomp": "System-call filters",
		"require": "Mechanisms that must be in force", "optional": "Mechanisms that a run may do without",
		"features": "Features",
	}
	for _, f := range p.facts()[2:] {
		say("%s: %s.", words[f.field], orNone(f.items))
	}
	var has, hasNot []string
	for _, n := range p.numbers() {
		if n.value != 0 {
			has = append(has, strings.TrimPrefix(n.field, "limits.")+" "+n.show(n.value))
		} else if strings.HasPrefix(n.field, "limits.") {
			hasNot = append(hasNot, strings.TrimPrefix(n.field, "limits."))
		}
	}
	say("At most: %s.", orNone(has))
	if len(hasNot) > 0 {
		say("Without a ceiling: %s.", orNone(hasNot))
	}
	return said
}

// ExplainJSON returns the policy and its explanation as JSON.
func ExplainJSON(p *Policy) (json.RawMessage, error) {
	policy, err := p.JSON()
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"policy": json.RawMessage(policy), "means": Explain(p)})
}
