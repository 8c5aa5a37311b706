package cli

import (
	"slices"
	"strings"
)

// HelpWidth is the maximum width of a help line, in columns.
const HelpWidth = 100

// Help is a help text, in lines of at most HelpWidth columns.
type Help struct{ strings.Builder }

// Row writes a term and its explanation, in two columns if the term fits into the first.
func (h *Help) Row(term, text string, column int) {
	line := "  " + term
	if len(line) > column {
		h.WriteString(line + "\n")
		line = ""
	}
	line += strings.Repeat(" ", column+2-len(line))
	h.wrap(line, text, len(line))
}

// Paragraph writes a text, wrapped into lines.
func (h *Help) Paragraph(text string) { h.wrap("", text, 0) }

// wrap continues a line with text. The lines that follow are indented.
func (h *Help) wrap(line, text string, indent int) {
	start := len(line)
	for _, word := range strings.Fields(text) {
		if len(line) > start && len(line)+1+len(word) > HelpWidth {
			h.WriteString(line + "\n")
			line = strings.Repeat(" ", indent)
			start = indent
		}
		if len(line) > start {
			line += " "
		}
		line += word
	}
	h.WriteString(line + "\n")
}

// Flags writes a table of flags under the headings of their groups. short reserves space for one-letter flags.
func (h *Help) Flags(table []Flag, short bool) {
	grouped(table, func(group string) { h.WriteString("\n" + group + ":\n") }, func(f *Flag) {
		switch {
		case f.Short != 0:
			h.Row("-"+string(f.Short)+", "+f.usage(), f.Help, 30)
		case short:
			h.Row("    "+f.usage(), f.Help, 30)
		default:
			h.Row(f.usage(), f.Help, 28)
		}
	})
}

// grouped visits the flags of a table, and the heading of a group before its first flag. Flags without a group are left
// out.
func grouped(table []Flag, heading func(group string), row func(*Flag)) {
	group := ""
	for i := range table {
		f := &table[i]
		if f.Group == "" {
			continue
		}
		if f.Group != group {
			group = f.Group
			heading(group)
		}
		row(f)
	}
}

// examples writes the examples of a command, or all of them.
func (p *Program) examples(h *Help, command string) {
	of := ""
	for _, e := range p.Examples() {
		if words := strings.Fields(e[0]); words[0] == p.Name {
			of = words[1]
		}
		if command != "" && command != of {
			continue
		}
		if h.Len() == 0 {
			h.WriteString("Examples:\n")
		}
		h.WriteString("  # " + e[1] + "\n  " + e[0] + "\n")
	}
	if h.Len() > 0 {
		h.WriteString("\n")
	}
}

// Help returns the help of the program.
func (p *Program) Help() string {
	var h Help
	p.examples(&h, "")
	h.WriteString(p.Name + ": " + p.Summary + ".\n\nUsage: " + p.Name + " COMMAND\n\nCommands:\n")
	for _, c := range p.all() {
		h.Row(c.Name, c.What, 14)
	}
	h.WriteString("\n" + p.HelpEnd + "\n")
	return h.String()
}

// CommandHelp returns the help of a command, which must exist.
func (p *Program) CommandHelp(name string) string {
	c := p.command(name)
	if c.Text != "" {
		return c.Text
	}
	var h Help
	p.examples(&h, name)
	h.WriteString("Usage: " + strings.TrimSpace(p.Name+" "+name+" "+c.Args) + "\n\n" + sentence(c.What) + "\n" + c.About)
	if c.Kind != Plain || !p.WordsOnly {
		h.Flags(withKeys(c), p.short())
	}
	if c.After != nil {
		c.After(&h)
	}
	return h.String()
}

// withKeys returns the flags of a command. Those of a Service include their keys in the settings file.
func withKeys(c *Command) []Flag {
	table := c.flags()
	for i := range table {
		if f := &table[i]; c.Kind == Service && f.Path != "" {
			f.Help += " [" + f.Path + "]"
		}
	}
	return table
}

// short reports whether a command has one-letter flags.
func (p *Program) short() bool {
	return slices.ContainsFunc(p.Commands, func(c Command) bool {
		return c.Flags != nil && slices.ContainsFunc(c.Flags(), func(f Flag) bool { return f.Short != 0 })
	})
}

// sentence adds a capital and a full stop. text must not be empty.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }
