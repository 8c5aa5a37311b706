// Package roff writes manual pages in the man macros of groff_man(7).
package roff

import "strings"

// Page collects the lines of a manual page.
type Page struct{ b strings.Builder }

// New begins a page with its name in capitals, its section, its source and the manual that it belongs to.
func New(name, section, source, manual string) *Page {
	p := &Page{}
	p.Raw(".TH " + name + " " + section + ` "" "` + source + `" "` + manual + `"`)
	return p
}

// String is the whole page.
func (p *Page) String() string { return p.b.String() }

// Raw writes lines that are roff already.
func (p *Page) Raw(lines ...string) {
	for _, l := range lines {
		p.b.WriteString(l + "\n")
	}
}

// Section writes a heading and paragraphs of plain text.
func (p *Page) Section(title string, paragraphs ...string) {
	p.Raw(`.SH "` + title + `"`)
	for i, text := range paragraphs {
		if i > 0 {
			p.Raw(".PP")
		}
		p.Raw(Text(text))
	}
}

// Sub writes a lesser heading.
func (p *Page) Sub(title string) { p.Raw(`.SS "` + Text(title) + `"`) }

// Item writes a term, the rest of its line and a sentence that explains it. The sentence gets its capital and full stop.
func (p *Page) Item(term, rest, text string) {
	p.Raw(".TP", strings.TrimSpace(`\fB`+Text(term)+`\fR `+Text(rest)), Text(strings.ToUpper(text[:1])+text[1:]+"."))
}

// Verbatim writes text as it stands, line for line.
func (p *Page) Verbatim(text string) {
	p.Raw(".nf")
	for line := range strings.Lines(strings.TrimSpace(text)) {
		p.Raw(Text(strings.TrimSuffix(line, "\n")))
	}
	p.Raw(".fi")
}

// Text keeps roff from reading commands and typography into plain text.
func Text(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\`").Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
