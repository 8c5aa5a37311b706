package cli

import (
	"embed"
	"fmt"
	"strings"

	"brig/internal/words"
)

// scripts are the completions of the shells: each calls the program with Complete and shows what it answers.
//
//go:embed shells
var scripts embed.FS

// complete is the command that the scripts call. It is in no help.
const complete = "__complete"

var shells = []string{"bash", "zsh", "fish"}

// completion runs the command that prints a completion script.
func (p *Program) completion(args []string, std Stdio) int {
	if len(args) == 1 {
		if args[0] == "-h" || args[0] == "--help" {
			return std.Emit(p.CommandHelp("completion"))
		}
		if script := p.Completion(args[0]); script != "" {
			return std.Emit(script)
		}
		if near := words.Nearest(args[0], shells); near != "" {
			return std.Fail("completion: " + words.Quote(args[0]) + " is not a known shell; did you mean " + near + "?")
		}
	}
	return std.Fail("completion: it takes the name of one shell; write " + p.Name + " completion bash, zsh or fish")
}

// Completion returns the completion script of bash, zsh or fish, and "" for other shells.
func (p *Program) Completion(shell string) string {
	text, err := scripts.ReadFile("shells/" + shell)
	if err != nil {
		return ""
	}
	return strings.NewReplacer("@NAME", p.Name, "@COMPLETE", complete).Replace(string(text))
}

// Complete returns what can stand in place of the last of the words after the program's name: a word on each line, with
// its help behind a tab. The line "\tfiles" stands for the names of files, and "\tcommand N" for the completion of a
// command line that begins with word N, counted from 0.
func (p *Program) Complete(line []string) string {
	if len(line) == 0 {
		line = []string{""}
	}
	o := &offers{word: line[len(line)-1]}
	c := p.command(line[0])
	switch {
	case len(line) == 1:
		for _, c := range p.all() {
			o.add(c.Name, c.What)
		}
	case c == nil:
	case c.Kind == Plain:
		p.plain(o, c, len(line) == 2)
	default:
		o.flags(c, line[1:len(line)-1])
	}
	return o.String()
}

// offers are the words that begin as the last one does.
type offers struct {
	strings.Builder
	word   string // that is completed
	before string // what is not offered: --flag= in the same word
}

func (o *offers) add(word, help string) {
	if word = o.before + word; strings.HasPrefix(word, o.word) {
		o.WriteString(word + "\t" + help + "\n")
	}
}

const files = "\tfiles\n"

// table offers the flags of a command.
func (o *offers) table(flags []Flag) {
	for i := range flags {
		o.add("--"+flags[i].Name, flags[i].Help)
	}
	o.add("--help", "print help")
}

// plain offers the words of a Plain command, commands, shells or topics, then files, and its flags.
func (p *Program) plain(o *offers, c *Command, first bool) {
	var list []string
	subs, _, _ := strings.Cut(c.Args, " ")
	switch {
	case first && c.Name == "help":
		list = append(p.names(), p.topics()...)
	case first && !strings.HasPrefix(subs, "["):
		list = strings.Split(subs, "|")
	case !first && (p.WordsOnly || strings.Contains(c.Args, "ARG")):
		o.WriteString(files)
	}
	for _, name := range list {
		if name == strings.ToLower(name) { // else it stands for something
			o.add(name, "")
		}
	}
	o.table(c.flags())
}

// flags offers the values of the flag before the last word, the command line that a Payload ends with, or flags.
func (o *offers) flags(c *Command, before []string) {
	table, left := c.flags(), 0 // values to come
	var f *Flag
	for i, word := range before {
		switch {
		case word == "=": // bash breaks --flag=value into three words
			left = 1
		case left > 0:
			left--
		case c.Kind == Payload && (word == "--" || !isFlag(word)):
			at := i + 1
			if word == "--" {
				at++
			}
			fmt.Fprintf(o, "\tcommand %d\n", at)
			return
		case isFlag(word):
			var attached bool
			if f, _, attached = Lookup(table, word); f != nil && !attached && (f.Bare == nil || f.Greedy) {
				left = f.values()
			}
		}
	}
	if o.word == "=" {
		o.word, left = "", 1
	} else if flag, _, attached := strings.Cut(o.word, "="); left == 0 && attached && isFlag(flag) {
		f, _, _ = Lookup(table, flag)
		o.before, left = flag+"=", 1
	}
	switch {
	case left > 0 && f != nil:
		for _, w := range f.Words {
			o.add(w, "")
		}
		if f.Files {
			o.WriteString(files)
		}
	case c.Kind == Payload && !strings.HasPrefix(o.word, "-"):
		fmt.Fprintf(o, "\tcommand %d\n", len(before)+1)
	case left == 0:
		o.table(table)
	}
}

func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' }

func (c *Command) flags() []Flag {
	if c.Flags == nil {
		return nil
	}
	return c.Flags()
}
