package seccomp

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// width is the line length of Table.String.
const width = 110

// String returns the table for `brig explain --seccomp`: system calls with the same rules form one group.
func (t *Table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seccomp table for %s\n", t.Arch)
	if t.Newest >= 0 {
		fmt.Fprintf(&b, "  %-20s  every call newer than number %d%s\n", "ERRNO(ENOSYS)", t.Newest, t.newestName())
	}
	fmt.Fprintf(&b, "  %-20s  every call through another ABI (i386, x32, …)\n", KillProcess)
	fmt.Fprintf(&b, "  %-20s  every call not listed below\n", t.Default)
	for _, f := range t.Flags {
		fmt.Fprintf(&b, "  %-20s  %s\n", "flag", f)
	}
	always, sometimes := t.groups()
	for _, g := range always {
		fmt.Fprintf(&b, "\n%s (%d)\n%s", g.rules[0].Action, len(g.names), wrap(g.names, "  "))
	}
	if len(sometimes) > 0 {
		b.WriteString("\nBY ARGUMENT (the first line that holds decides)\n")
	}
	for _, g := range sometimes {
		t.writeConditional(&b, g)
	}
	if len(t.Notes) > 0 {
		b.WriteString("\nNOTES\n")
	}
	for _, n := range t.Notes {
		b.WriteString(wrapText(n, "  ", "    "))
	}
	return b.String()
}

func (t *Table) newestName() string {
	for _, r := range t.Rules {
		if r.Nr == t.Newest {
			return " (" + r.Name + ")"
		}
	}
	return ""
}

// group is a set of system calls with the same rules.
type group struct {
	names []string
	rules []Rule
}

// groups divides the calls into those without conditions, one group for each action, and the others.
func (t *Table) groups() (always, sometimes []group) {
	at := map[string]int{}
	var all []group
	numbers, byNumber := t.bySyscall()
	for _, nr := range numbers {
		rules := byNumber[nr]
		key := chain(rules)
		i, ok := at[key]
		if !ok {
			i = len(all)
			at[key] = i
			all = append(all, group{rules: rules})
		}
		all[i].names = append(all[i].names, rules[0].Name)
	}
	for _, g := range all {
		slices.Sort(g.names)
		if len(g.rules[0].Conds) == 0 {
			always = append(always, g)
		} else {
			sometimes = append(sometimes, g)
		}
	}
	slices.SortStableFunc(sometimes, func(a, b group) int { return strings.Compare(a.names[0], b.names[0]) })
	return always, sometimes
}

// chain returns a key that is equal for calls whose rules have the same text.
func chain(rules []Rule) string {
	var b strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&b, "%s if %s\n", r.Action, condText(r))
	}
	return b.String()
}

func (t *Table) writeConditional(b *strings.Builder, g group) {
	b.WriteString(wrap(g.names, "  "))
	final := "otherwise"
	for _, r := range g.rules {
		text := final
		if len(r.Conds) > 0 {
			text = "if " + condText(r)
		}
		fmt.Fprintf(b, "    %-18s  %s\n", r.Action, text)
	}
	if len(g.rules[len(g.rules)-1].Conds) > 0 {
		fmt.Fprintf(b, "    %-18s  %s\n", t.Default, final)
	}
}

// condText formats the conditions of a rule: `domain[31:0] == 16 (AF_NETLINK) and protocol[31:0] == 0`.
func condText(r Rule) string {
	parts := make([]string, 0, len(r.Conds))
	for _, c := range r.Conds {
		name := argName(r.Name, c.Arg)
		value := number(c.Value)
		switch {
		case c.Op == MaskedEq && c.Mask == math.MaxUint32:
			name += "[31:0]"
		case c.Op == MaskedEq:
			name += " & " + number(c.Mask)
		}
		if meaning := valueName(r.Name, c); meaning != "" {
			value += " (" + meaning + ")"
		}
		parts = append(parts, name+" "+c.Op.String()+" "+value)
	}
	return strings.Join(parts, " and ")
}

func number(v uint64) string {
	if v < 1000 {
		return strconv.FormatUint(v, 10)
	}
	return "0x" + strconv.FormatUint(v, 16)
}

// wrap arranges words in lines of width.
func wrap(words []string, indent string) string {
	return wrapText(strings.Join(words, " "), indent, indent)
}

func wrapText(text, first, rest string) string {
	var b strings.Builder
	line := first
	empty := true
	for _, w := range strings.Fields(text) {
		if !empty && len(line)+1+len(w) > width {
			b.WriteString(line + "\n")
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+w, false
	}
	return b.String() + line + "\n"
}
