package main

import (
	_ "embed"
	"iter"
	"slices"
	"strings"

	"brig/cmd/brig/internal/wish"
	"brig/internal/cli"
)

// sections returns the parts of a text: "# TITLE", and paragraphs with an empty line between them. What begins with
// blanks keeps its lines.
func sections(text string) iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		for part := range strings.SplitSeq(strings.TrimPrefix(text, "# "), "\n# ") {
			list := strings.Split(strings.TrimSpace(part), "\n\n")
			for i, p := range list {
				if !strings.HasPrefix(p, "  ") {
					list[i] = strings.ReplaceAll(p, "\n", " ")
				}
			}
			if !yield(list[0], list[1:]) {
				return
			}
		}
	}
}

//go:embed topics.txt
var topicTexts string

// topics returns the help topics besides the commands.
func topics() []cli.Topic {
	named := func(name string) func(*cli.Flag) bool { return func(f *cli.Flag) bool { return f.Name == name } }
	return []cli.Topic{
		topic("net", func(f *cli.Flag) bool { return f.Group == "Network" }),
		topic("limits", func(f *cli.Flag) bool { return f.Group == "Limits" || f.Group == "Control group" }),
		topic("tier", named("tier")),
		topic("seccomp", named("seccomp")),
	}
}

// topic formats the help on a topic: example command lines, paragraphs, rows "  TERM: TEXT", and the flags that belong
// to it.
func topic(name string, belongs func(*cli.Flag) bool) cli.Topic {
	return cli.Topic{Name: name, Help: func() string {
		var h cli.Help
		for title, list := range sections(topicTexts) {
			if title != name {
				continue
			}
			h.WriteString("Examples:\n" + strings.ReplaceAll(list[0], "    ", "  ") + "\n")
			for _, text := range list[1:] {
				if strings.HasPrefix(text, "  ") {
					for line := range strings.SplitSeq(text, "\n") {
						term, what, _ := strings.Cut(strings.TrimSpace(line), ": ")
						h.Row(term, what, 14)
					}
					continue
				}
				h.WriteString("\n")
				h.Paragraph(text)
			}
		}
		h.Flags(slices.DeleteFunc(wish.NewDraft("run", nil).Flags(), func(f cli.Flag) bool { return !belongs(&f) }), true)
		return h.String()
	}}
}
