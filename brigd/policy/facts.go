package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"brig/internal/strictjson"
	egress "brig/netns/egress/policy"
	"brig/nsjail/spec"
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

// fact is a list or a bound of a policy, for comparison.
type fact struct {
	path  string
	items []string // the entries of a list as text; nil if it is absent
	to    any      // a pointer to a bound, where 0 means none
}

// denies reports whether more items allow less.
func (f *fact) denies() bool {
	return slices.Contains([]string{"network.egress.deny", "limits.refuse", "require"}, f.path)
}

// bound returns the bound as text, or "any" if there is none.
func (f *fact) bound() string {
	if number(f.to) == 0 {
		return "any"
	}
	return show(f.to, number(f.to))
}

// facts returns the lists and the bounds of a policy, including the implied ones.
func (p *Policy) facts() (lists, bounds []fact) {
	list := func(path string, items []string) {
		f := fact{path: path, items: items}
		if p.Open && items == nil && !f.denies() {
			f.items = []string{"anything"}
		}
		lists = append(lists, f)
	}
	c := *p
	c.Limits = p.Limits.implied()
	each("", &c, func(path string, to any) {
		switch to := to.(type) {
		case *[]Command:
			list(path, texts(*to, commandText))
		case *[]spec.Net:
			list(path, modeNames(*to))
		case *[]egress.Ports:
			list(path, texts(*to, egress.Ports.String))
		case **egress.Policy:
			list(path, texts(rows(*to, "allow"), rowText))
			list(path+".deny", texts(rows(*to, "deny"), rowText))
		case *[]string:
			list(path, texts(*to, func(s string) string { return cmp.Or(s, "the minimal root") }))
		default:
			bounds = append(bounds, fact{path: path, to: to})
		}
	})
	for _, b := range cmp.Or(p.Network.Egress, &egress.Policy{}).Bounds() {
		bounds = append(bounds, fact{path: "network.egress." + b.Name, to: b.To})
	}
	return lists, bounds
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

func modeNames(modes []spec.Net) []string {
	return texts(modes, func(m spec.Net) string { return string(m) })
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
	la, ba := a.facts()
	lb, bb := b.facts()
	for i, f := range la {
		c := Change{Field: f.path, More: minus(lb[i].items, f.items), Less: minus(f.items, lb[i].items)}
		if f.denies() {
			c.More, c.Less = texts(c.Less, func(s string) string { return "no longer " + s }),
				texts(c.More, func(s string) string { return "now " + s })
		}
		if len(c.More)+len(c.Less) > 0 {
			changes = append(changes, c)
		}
	}
	for i, f := range ba {
		from, to := number(f.to), number(bb[i].to)
		text := []string{bb[i].bound() + " instead of " + f.bound()}
		switch {
		case from == to:
		case to == 0 || from != 0 && to > from:
			changes = append(changes, Change{Field: f.path, More: text})
		default:
			changes = append(changes, Change{Field: f.path, Less: text})
		}
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
	"images":        "Images of the operator's that may be the root",
	"shares":        "Shares of the operator's that may be mounted",
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
		say("It restricts only what it mentions, and is meant to be combined with other policies.")
	}
	lists, bounds := p.facts()
	for _, f := range lists {
		more := ""
		if f.path == "languages" {
			more = " What the code or a command executes later is restricted by the jail only."
		}
		say("%s: %s.%s", titles[f.path], orNone(f.items), more)
	}
	var has, hasNot []string
	for _, f := range bounds {
		name, limits := strings.CutPrefix(f.path, "limits.")
		if number(f.to) != 0 {
			has = append(has, name+" "+f.bound())
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
