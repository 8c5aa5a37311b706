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

// String returns the whole page.
func (p *Page) String() string { return p.b.String() }

// Raw writes lines of roff.
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

// Sub writes a subheading.
func (p *Page) Sub(title string) { p.Raw(`.SS "` + Text(title) + `"`) }

// Item writes a term, the rest of its line and a sentence about it, to which it adds a capital and a full stop. text
// must not be empty.
func (p *Page) Item(term, rest, text string) {
	p.Raw(".TP", strings.TrimSpace(`\fB`+Text(term)+`\fR `+Text(rest)), Text(strings.ToUpper(text[:1])+text[1:]+"."))
}

// Verbatim writes text unchanged, line by line.
func (p *Page) Verbatim(text string) {
	p.Raw(".nf")
	for line := range strings.Lines(strings.TrimSpace(text)) {
		p.Raw(Text(strings.TrimSuffix(line, "\n")))
	}
	p.Raw(".fi")
}

// Text escapes plain text, so that roff finds no commands in it and prints quotes and hyphens unchanged.
func Text(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\`").Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
