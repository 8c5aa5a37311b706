package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"brig/internal/strictjson"
	egress "brig/netns/egress/policy"
	"brig/nsjail"
)

// each calls visit for the lists and bounds of a policy, or of a part of one, with their paths and pointers to them.
func each(path string, part any, visit func(path string, to any)) {
	for _, f := range strictjson.Fields(part) {
		at := strings.TrimPrefix(path+"."+f.Name, ".")
		switch f.To.(type) {
		case *string, *bool:
		case *Paths, *Network, *Environment, *Limits, *Inputs, *Sandbox:
			each(at, f.To, visit)
		default:
			visit(at, f.To)
		}
	}
}

// facts are the entries of one list of a policy as text, for comparison. If the list is absent, items are nil.
type facts struct {
	field string
	items []string
}

// denies reports whether more items allow less.
func (f *facts) denies() bool {
	return slices.Contains([]string{"network.egress.deny", "limits.refuse", "require"}, f.field)
}

func (p *Policy) facts() (all []facts) {
	each("", p, func(path string, to any) {
		f := facts{field: path}
		switch list := to.(type) {
		case *[]Command:
			f.items = texts(*list, commandText)
		case *[]nsjail.Net:
			f.items = modeNames(*list)
		case *[]egress.Ports:
			f.items = texts(*list, egress.Ports.String)
		case *[]string:
			f.items = slices.Clone(*list)
		case **egress.Policy:
			var denied []string
			f.items, denied = egressTexts(*list)
			all = append(all, f)
			f = facts{path + ".deny", denied}
		default:
			return
		}
		all = append(all, f)
	})
	for i := range all {
		f := &all[i]
		if p.Open && f.items == nil && !f.denies() {
			f.items = []string{"anything"}
		}
		if f.field == "paths.roots" {
			f.items = texts(f.items, func(root string) string { return cmp.Or(root, "the minimal root") })
		}
	}
	return all
}

// texts returns a text for each entry of a list, and nil only for nil.
func texts[T any](list []T, text func(T) string) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, entry := range list {
		out[i] = text(entry)
	}
	return out
}

func modeNames(modes []nsjail.Net) []string {
	return texts(modes, func(m nsjail.Net) string { return string(m) })
}

// egressTexts returns what rules allow and deny, or nil without rules.
func egressTexts(e *egress.Policy) (allowed, denied []string) {
	if e == nil {
		return nil, nil
	}
	allowed = []string{}
	for _, r := range egress.Effective(e) {
		if r.Verdict == "allow" {
			allowed = append(allowed, rowText(r))
		} else {
			denied = append(denied, rowText(r))
		}
	}
	return allowed, denied
}

// plain reports whether the command is allowed with any arguments.
func (k Command) plain() bool {
	return k.Allow == nil && k.Deny == nil && k.Flags == nil && k.DenyFlags == nil
}

// commandText returns a command as one line.
func commandText(k Command) string {
	if k.plain() {
		return k.Command
	}
	var parts []string
	for _, a := range k.Allow {
		parts = append(parts, "only "+form(a))
	}
	for _, d := range k.Deny {
		parts = append(parts, "never "+form(d))
	}
	if k.Flags != nil {
		parts = append(parts, "with no options but "+orNone(k.Flags))
	}
	if k.DenyFlags != nil {
		parts = append(parts, "without the options "+orNone(k.DenyFlags))
	}
	return k.Command + " (" + strings.Join(parts, "; ") + ")"
}

// numeric is a bound of a policy: a pointer to a number. 0 means no bound.
type numeric struct {
	path string
	to   any
}

// text returns the bound, or "any" if there is none.
func (n numeric) text() string {
	if number(n.to) == 0 {
		return "any"
	}
	return show(n.to, number(n.to))
}

// numbers returns the bounds, including the implied ones; those of the network are the last.
func (p *Policy) numbers() (list []numeric) {
	add := func(path string, to any) {
		switch to.(type) {
		case *nsjail.Duration, *nsjail.Bytes, *int64, *float64:
			list = append(list, numeric{path, to})
		}
	}
	c := *p
	c.Limits = p.Limits.implied()
	each("", &c, add)
	for _, b := range bounds(p.Network.Egress) {
		list = append(list, numeric{"network.egress." + b.Name, b.To})
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
		if fa[i].denies() {
			c.More, c.Less = texts(c.Less, func(s string) string { return "no longer " + s }),
				texts(c.More, func(s string) string { return "now " + s })
		}
		if len(c.More)+len(c.Less) > 0 {
			changes = append(changes, c)
		}
	}
	na, nb := a.numbers(), b.numbers()
	for i := range na {
		from, to := number(na[i].to), number(nb[i].to)
		change := Change{Field: na[i].path}
		text := []string{nb[i].text() + " instead of " + na[i].text()}
		switch {
		case from == to:
			continue
		case to == 0 || from != 0 && to > from:
			change.More = text
		default:
			change.Less = text
		}
		changes = append(changes, change)
	}
	return changes
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

// titles are what Explain calls the lists.
var titles = map[string]string{
	"commands": "Commands that a request may name", "languages": "Languages that it may send code in",
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

// Explain describes the policy in sentences.
func Explain(p *Policy) (said []string) {
	say := func(format string, a ...any) { said = append(said, fmt.Sprintf(format, a...)) }
	if p.Description != "" {
		said = append(said, sentence(p.Description))
	}
	if p.Open {
		say("What it does not mention it leaves alone: it is to stand beside other policies.")
	}
	for _, f := range p.facts() {
		more := ""
		if f.field == "languages" {
			more = " What code, or a command, executes later is not looked at; the jail holds it."
		}
		say("%s: %s.%s", titles[f.field], orNone(f.items), more)
	}
	var has, hasNot []string
	for _, n := range p.numbers() {
		name, limits := strings.CutPrefix(n.path, "limits.")
		if number(n.to) != 0 {
			has = append(has, name+" "+n.text())
		} else if limits {
			hasNot = append(hasNot, name)
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
