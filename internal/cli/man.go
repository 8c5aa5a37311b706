package cli

import "strings"

// Page is a manual page in the man macros of groff_man(7).
type Page struct{ strings.Builder }

// Manual holds the parts of the manual page that are not in the tables.
type Manual struct {
	Section, Book string // "1" and "User Commands"
	Description   string
	Options       string      // the text before the flags
	Of            string      // the command whose flags are listed
	Rest          func(*Page) // writes the sections that follow
}

// ManualPage returns the manual page.
func (p *Program) ManualPage() string {
	m := &Page{}
	m.raw(".TH " + strings.ToUpper(p.Name) + " " + p.Manual.Section + ` "" "` + p.Name + " " + p.Version + `" "` +
		p.Manual.Book + `"`)
	m.Section("NAME", p.Name+" - "+p.Summary)
	m.Section("SYNOPSIS")
	for _, c := range p.all() {
		m.raw(".br", strings.TrimSpace(`\fB`+p.Name+" "+escape(c.Name)+`\fR `+escape(c.Args)))
	}
	m.Section("DESCRIPTION", p.Manual.Description)
	m.Section("EXAMPLES")
	for _, e := range p.Examples() {
		m.Item(e[0], "", e[1])
	}
	m.Section("COMMANDS")
	for _, c := range p.all() {
		m.Item(c.Name, c.Args, c.What)
	}
	m.Section("OPTIONS", p.Manual.Options)
	m.flags(withKeys(p.command(p.Manual.Of)))
	p.Manual.Rest(m)
	return m.String()
}

// flags writes a table of flags under the headings of their groups.
func (m *Page) flags(table []Flag) {
	grouped(table, func(group string) { m.raw(`.SS "` + escape(group) + `"`) }, func(f *Flag) {
		name, values, _ := strings.Cut(f.usage(), " ")
		if f.Short != 0 {
			name = "-" + string(f.Short) + ", " + name
		}
		m.Item(name, values, f.Help)
	})
}

// raw writes lines of roff.
func (m *Page) raw(lines ...string) {
	for _, l := range lines {
		m.WriteString(l + "\n")
	}
}

// Section writes a heading and paragraphs of plain text.
func (m *Page) Section(title string, paragraphs ...string) {
	m.raw(`.SH "` + title + `"`)
	for i, text := range paragraphs {
		if i > 0 {
			m.raw(".PP")
		}
		m.raw(escape(text))
	}
}

// Item writes a term, the rest of its line and a sentence about it, to which it adds a capital and a full stop. text
// must not be empty.
func (m *Page) Item(term, rest, text string) {
	m.raw(".TP", strings.TrimSpace(`\fB`+escape(term)+`\fR `+escape(rest)), escape(sentence(text)))
}

// Verbatim writes text unchanged, line by line.
func (m *Page) Verbatim(text string) {
	m.raw(".nf")
	for line := range strings.Lines(strings.TrimSpace(text)) {
		m.raw(escape(strings.TrimSuffix(line, "\n")))
	}
	m.raw(".fi")
}

// escape escapes plain text, so that roff finds no commands in it and prints quotes and hyphens unchanged.
func escape(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\`").Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
