package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"brig/internal/words"
)

// Version is the version of brig, brigd and their package (scripts/package.sh).
const Version = "0.1.0"

// ExitUsage is the exit code for an invalid command line: nothing has been done.
const ExitUsage = 125

// Program is a table of commands, with the program's texts for help, errors and the manual page. Each program also has
// the commands version, help, completion and man.
type Program struct {
	Name, Version string
	Summary       string // one line, without a full stop
	Commands      []Command
	Examples      func() []Example
	Topics        []Topic // help topics besides the commands

	Try       string // a first command line, as in "brig run -- COMMAND"
	TryFlag   string // a command line with a flag
	Otherwise string // what to do with a word that is not a command; "" lists the commands
	HelpEnd   string // the last line of help
	Neighbour Neighbour

	// WordsOnly omits the flags of Plain commands from help, and lets completion offer files after their first word.
	WordsOnly bool

	Manual Manual
}

// Command is a word after the program's name.
type Command struct {
	Name, Args string // Args are its arguments, for the usage line
	What       string // one line, without a full stop
	Run        func(args []string, std Stdio) int

	Jails   bool // it starts jails, or has a server start them
	Foreign bool // it has another program's messages and exit codes, and looks at its environment itself

	Kind  Kind
	Flags func() []Flag // nil for none
	About string        // follows What in help
	After func(*Help)   // writes the help text after the flags; may be nil
	Text  string        // the whole help, if it is not generated
}

// Kind is the kind of a command's arguments.
type Kind int

// The kinds of commands.
const (
	Plain   Kind = iota // a few words and flags
	Payload             // flags, then a command line for a jail; such commands have the same flags
	Service             // flags only, which have a Path in a file of settings
)

// Neighbour is another program and its commands, for a caller who has written one of them after this program's name.
type Neighbour struct {
	Name     string
	Commands []string
}

// instead returns the command line of the neighbour's command that a word is, or "".
func (n *Neighbour) instead(word string) string {
	if slices.Contains(n.Commands, word) {
		return n.Name + " " + word
	}
	return ""
}

// Example is an example command line and its description. It belongs to the command that it names, or else to that of
// the preceding example.
type Example [2]string

// Topic is a help topic that is not a command.
type Topic struct {
	Name string
	Help func() string
}

// Stdio holds the standard streams of a command. They are files, because a jail inherits them.
type Stdio struct {
	Name         string // of the program; it begins each line on Err
	In, Out, Err *os.File
}

// Fail prints each line on Err, at most ten, and returns ExitUsage.
func (s Stdio) Fail(lines ...string) int {
	const most = 10
	for i, line := range lines {
		if i == most {
			line = "and " + strconv.Itoa(len(lines)-most) + " more problems"
		}
		// If Err is closed, only the exit code remains.
		if _, err := fmt.Fprintln(s.Err, s.Name+": "+line); err != nil || i == most {
			break
		}
	}
	return ExitUsage
}

// Emit writes the output of a command to Out.
func (s Stdio) Emit(text string) int {
	if _, err := io.WriteString(s.Out, text); err != nil {
		return s.Fail("cannot write to stdout: " + Reason(err) + "; give it a reader or more room")
	}
	return 0
}

// Say prints a line on Err. A closed Err does not change the exit code.
func (s Stdio) Say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Err, s.Name+": "+format+"\n", args...)
}

// Reason returns the text of an error without the operation and the path, which the message already has.
func Reason(err error) string {
	if p, ok := err.(*os.PathError); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// Main runs the command that args name and returns the exit code.
func (p *Program) Main(args []string, std Stdio) int {
	if len(args) == 0 {
		return std.Fail("there is no command; write " + p.Try + ", or " + p.Name + " help")
	}
	word, rest := args[0], args[1:]
	switch word {
	case "-h", "--help":
		word = "help"
	case "-V", "--version":
		word = "version"
	case complete:
		return std.Emit(p.Complete(rest))
	}
	for i := range p.Commands { // before the common commands are built, which keeps a start short
		if p.Commands[i].Name == word {
			environ := os.Environ()
			if unknown := words.UnknownVariable(environ); unknown != "" && !p.Commands[i].Foreign {
				return std.Fail(unknown)
			}
			if note := words.ForBwrap(environ); note != "" && p.Commands[i].Jails {
				std.Say("%s", note)
			}
			return p.Commands[i].Run(rest, std)
		}
	}
	if c := p.command(word); c != nil {
		return c.Run(rest, std)
	}
	shown := words.Quote(word)
	if line := p.Neighbour.instead(word); line != "" {
		return std.Fail(shown + " is a command of " + p.Neighbour.Name + "; write " + line)
	}
	if strings.HasPrefix(word, "-") {
		return std.Fail(shown + " comes too early; flags follow the command, as in " + p.TryFlag)
	}
	fix := "write one of " + strings.Join(p.names(), ", ")
	if near := words.Nearest(word, p.names()); near != "" {
		fix = "did you mean " + p.Name + " " + near + "?"
	} else if p.Otherwise != "" {
		fix = p.Otherwise + shown
	}
	return std.Fail(shown + " is not a command of " + p.Name + "; " + fix)
}

// all returns the program's commands and the common ones.
func (p *Program) all() []Command {
	help := Command{Name: "help", Args: "[COMMAND]", What: "print help", Run: p.help}
	if names := p.topics(); len(names) > 0 {
		help.Args, help.What = "[COMMAND|TOPIC]", help.What+"; the topics are "+strings.Replace(words.Or(names), " or ",
			" and ", 1)
	}
	return append(p.Commands[:len(p.Commands):len(p.Commands)],
		Command{Name: "version", Args: "[--json]", What: "print the version", Run: p.version,
			Flags: func() []Flag { return []Flag{JSON(nil)} }},
		help,
		Command{Name: "completion", Args: "bash|zsh|fish", What: "print the completion script of a shell", Run: p.completion},
		Command{Name: "man", What: "print the manual page " + p.Name + "(" + p.Manual.Section + ")" + " in roff", Run: p.man})
}

// command returns the command of a name, or nil.
func (p *Program) command(name string) *Command {
	all := p.all()
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

func (p *Program) names() (list []string) {
	for _, c := range p.all() {
		list = append(list, c.Name)
	}
	return list
}

func (p *Program) topics() (list []string) {
	for _, t := range p.Topics {
		list = append(list, t.Name)
	}
	return list
}

func (p *Program) help(args []string, std Stdio) int {
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		return std.Emit(p.Help())
	}
	if c := p.command(args[0]); c != nil {
		return std.Emit(p.CommandHelp(c.Name))
	}
	for _, t := range p.Topics {
		if t.Name == args[0] {
			return std.Emit(t.Help())
		}
	}
	if p.Neighbour.instead(args[0]) != "" {
		return std.Fail("help: " + words.Quote(args[0]) + " is a command of " + p.Neighbour.Name + "; write " +
			p.Neighbour.Name + " help " + args[0])
	}
	is := "is not a command of " + p.Name
	if len(p.Topics) > 0 {
		is = "is neither a command of " + p.Name + " nor a topic"
	}
	return std.Fail("help: " + words.Quote(args[0]) + " " + is + "; " + words.DidYouMean(args[0], append(p.names(),
		p.topics()...)))
}

func (p *Program) version(args []string, std Stdio) int {
	asJSON := false
	for _, a := range args {
		switch a {
		case "--json":
			asJSON = true
		case "-h", "--help":
			return std.Emit(p.CommandHelp("version"))
		default:
			return std.Fail(fmt.Sprintf("version: %s is not a flag of it; write %s version or %[2]s version --json",
				words.Quote(a), p.Name))
		}
	}
	if asJSON {
		return std.Emit(`{"version":` + strconv.Quote(p.Version) + "}\n")
	}
	return std.Emit(p.Name + " " + p.Version + "\n")
}

func (p *Program) man(args []string, std Stdio) int {
	switch {
	case len(args) == 0:
		return std.Emit(p.ManualPage())
	case args[0] == "-h" || args[0] == "--help":
		return std.Emit(p.CommandHelp("man"))
	}
	return std.Fail("man: " + words.Quote(args[0]) + " is not wanted; write " + p.Name + " man alone")
}
