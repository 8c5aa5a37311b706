package policy

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Row is one line of the effective policy.
type Row struct {
	Verdict  string `json:"verdict"`           // "deny", "allow"
	Target   string `json:"target"`            // a name, *.name, address or prefix
	Protocol string `json:"protocol"`          // "tcp", "udp", "any"
	Ports    string `json:"ports"`             // "443", "80,8000-8010", "*"
	Mode     Mode   `json:"mode,omitempty"`    // of an allow row; never ModeDefault
	Methods  string `json:"methods,omitempty"` // "GET,HEAD", empty: every one
	Paths    string `json:"paths,omitempty"`   // "/api /v2", empty: every one
}

// Effective returns the policy in the order in which it is applied: denials first, then each allow rule split by mode,
// with its default ports, and narrowed by AllowedPorts. A rule without ports left has no row. The policy must have
// passed Check.
func Effective(p *Policy) (rows []Row) {
	var ports []portSet // of each row
	add := func(row Row, set portSet) {
		last := len(rows) - 1
		if last >= 0 && rows[last] == row && row.Verdict == "allow" { // as of an address rule that was split at 80 and 443
			ports[last] = newPortSet(slices.Concat(ports[last], set))
			return
		}
		rows, ports = append(rows, row), append(ports, set)
	}
	for _, r := range p.denials() {
		add(Row{Verdict: "deny", Target: r.rule.Host + r.rule.CIDR, Protocol: "any"}, r.ports)
	}
	for _, r := range p.allowances() {
		left := r.ports
		for _, at := range []portSet{{{80, 80}}, {{443, 443}}, {anyPort}} { // the default mode differs between these
			set := left.and(at)
			if r.rule.Mode != ModeDefault {
				set = left
			}
			if left = left.minus(set); set.count() > 0 {
				add(Row{Verdict: "allow", Target: r.rule.Host + r.rule.CIDR, Protocol: protocol(r), Mode: r.mode(set[0].From),
					Methods: strings.Join(r.rule.Methods, ","), Paths: strings.Join(r.rule.Paths, " ")}, set)
			}
		}
	}
	for i := range rows {
		rows[i].Ports = ports[i].String()
	}
	return rows
}

// Table returns the effective policy as text in columns, followed by what holds in every policy.
func (p *Policy) Table() string {
	var b strings.Builder
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(cells ...string) {
		for i, cell := range cells {
			cells[i] = cmp.Or(cell, "-")
		}
		_, _ = io.WriteString(columns, strings.Join(cells, "\t")+"\n") // a strings.Builder never fails
	}
	line("VERDICT", "TARGET", "PROTOCOL", "PORTS", "MODE", "METHODS", "PATHS")
	for _, r := range Effective(p) {
		line(r.Verdict, r.Target, r.Protocol, r.Ports, string(r.Mode), r.Methods, r.Paths)
	}
	line("deny", "everything else", "any", "*", "", "", "")
	_ = columns.Flush()
	b.WriteString("\nDenials win. A name alone never leads to one of these ranges. A rule for addresses opens those " +
		"of the second\n" +
		"list within which it lies, for names as well:\n")
	for _, s := range []struct {
		title string
		never bool
	}{{"never", true}, {"by address", false}} {
		wrap(&b, "  "+s.title+": ", classTexts(s.never))
	}
	addrs := make([]string, len(metadata()))
	for i, a := range metadata() {
		addrs[i] = a.String()
	}
	wrap(&b, "  never, as metadata services: ", addrs)
	return b.String()
}

// classTexts returns the text of the ranges that are never opened, or of the others.
func classTexts(never bool) (texts []string) {
	for _, c := range classes() {
		if c.never == never {
			texts = append(texts, c.prefix.String()+" ("+c.why+")")
		}
	}
	return texts
}

// wrap writes words after a title in lines of at most 120 characters.
func wrap(b *strings.Builder, title string, words []string) {
	line := title
	for i, word := range words {
		if i < len(words)-1 {
			word += ","
		}
		if utf8.RuneCountInString(line)+len(word) > 118 {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = "    "
		}
		line += word + " "
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}
