package cli

import (
	_ "embed" // the scripts
	"strings"

	"brig/internal/words"
)

// The scripts, with placeholders that begin with @.
var (
	//go:embed shells/payload.bash
	payloadBash string
	//go:embed shells/service.bash
	serviceBash string
	//go:embed shells/function.zsh
	functionZsh string
)

// completion runs the command that prints a completion script.
func (p *Program) completion(args []string, std Stdio) int {
	if len(args) == 1 {
		if args[0] == "-h" || args[0] == "--help" {
			return std.Emit(p.CommandHelp("completion"))
		}
		if script := p.Completion(args[0]); script != "" {
			return std.Emit(script)
		}
		if near := words.Nearest(args[0], []string{"bash", "zsh", "fish"}); near != "" {
			return std.Fail("completion: " + words.Quote(args[0]) + " is not a known shell; did you mean " + near + "?")
		}
	}
	return std.Fail("completion: it takes the name of one shell; write " + p.Name + " completion bash, zsh or fish")
}

// Completion returns the completion script of bash, zsh or fish, and "" for other shells.
func (p *Program) Completion(shell string) string {
	switch shell {
	case "bash":
		return p.bash()
	case "zsh":
		return p.zsh()
	case "fish":
		return p.fish()
	}
	return ""
}

// choices returns the words that may follow a Plain command: commands, shells or topics, and its flags.
func (p *Program) choices(c *Command) (list []string) {
	first, _, _ := strings.Cut(c.Args, " ")
	switch {
	case c.Name == "help":
		list = append(p.names(), p.topics()...)
		if p.WordsOnly {
			return list
		}
	case strings.Contains(first, "|") && !strings.HasPrefix(first, "["):
		list = strings.Split(first, "|")
	}
	return append(append(list, names(c.flags())...), "--help")
}

func (c *Command) flags() []Flag {
	if c.Flags == nil {
		return nil
	}
	return c.Flags()
}

func names(table []Flag) (list []string) {
	for _, f := range table {
		list = append(list, "--"+f.Name)
	}
	return list
}

// payload returns the first command of kind Payload, or nil, and the names of all.
func (p *Program) payload() (first *Command, all []string) {
	for i := range p.Commands {
		if c := &p.Commands[i]; c.Kind == Payload {
			if all = append(all, c.Name); first == nil {
				first = c
			}
		}
	}
	return first, all
}

func (p *Program) bash() string {
	first, all := p.payload()
	fill := []string{"@NAME", p.Name, "@COMMANDS", strings.Join(p.names(), " "), "@CASES"}
	if first == nil {
		return strings.NewReplacer(append(fill, p.bashCases(), "@VALUES", p.serviceValues())...).Replace(serviceBash)
	}
	table, values := first.Flags(), ""
	var taking [3][]string // spellings by the number of values
	for i := range table {
		f := &table[i]
		if f.Bare == nil {
			taking[f.values()] = append(taking[f.values()], f.Spellings()...)
		}
		if len(f.Words) > 0 {
			values += "\t" + strings.Join(f.Spellings(), "|") + ") " + bashWords(f.Words) + " ;;\n"
		}
	}
	return strings.NewReplacer(append(fill, "\t"+strings.Join(all, "|")+") ;;\n"+p.bashCases(),
		"@ONE_VALUE", strings.Join(taking[1], "|"), "@TWO_VALUES", strings.Join(taking[2], "|"),
		"@FLAGS", "--help "+strings.Join(names(table), " "), "@VALUES", values)...).Replace(payloadBash)
}

const bashFiles = `COMPREPLY=($(compgen -f -- "$cur"))`

func bashWords(list []string) string {
	return `COMPREPLY=($(compgen -W "` + strings.Join(list, " ") + `" -- "$cur"))`
}

// bashCases returns the cases of the commands other than Payload.
func (p *Program) bashCases() (cases string) {
	for _, c := range p.all() {
		switch c.Kind {
		case Service:
			cases += "\t" + c.Name + `) flags="--help ` + strings.Join(names(c.Flags()), " ") + "\" ;;\n"
		case Plain:
			files := ""
			if p.WordsOnly || strings.Contains(c.Args, "ARG") {
				files = "; ((COMP_CWORD == 2)) || " + bashFiles
			}
			cases += "\t" + c.Name + ") " + bashWords(p.choices(&c)) + files + "; return ;;\n"
		}
	}
	return cases
}

// serviceValues returns the cases of the flags with a value. The last service has the flags of all.
func (p *Program) serviceValues() (cases string) {
	for _, c := range p.Commands {
		if c.Kind != Service {
			continue
		}
		cases = ""
		for _, f := range c.Flags() {
			switch {
			case len(f.Words) > 0:
				cases += "\t--" + f.Name + ") " + bashWords(f.Words) + "; return ;;\n"
			case f.Files:
				cases += "\t--" + f.Name + ") " + bashFiles + "; return ;;\n"
			case f.Args != "":
				cases += "\t--" + f.Name + ") return ;;\n"
			}
		}
	}
	return cases
}

func (p *Program) zsh() string {
	first, all := p.payload()
	locals, commands, cases := "", "", ""
	for _, c := range p.all() {
		commands += "\t\t" + words.Shell(c.Name+":"+c.What) + "\n"
		switch {
		case c.Kind == Plain:
			offer := strings.Join(p.choices(&c), " ")
			cases += "\t" + c.Name + ") if ((CURRENT == 2)); then compadd -- " + offer + "; else _files; fi ;;\n"
		case c.Kind == Service:
			cases += "\t" + c.Name + ") _arguments '(- *)--help[print help]'"
			for _, f := range c.Flags() {
				cases += " \\\n\t\t" + words.Shell("*--"+f.Name+zshValues(&f))
			}
			cases += " ;;\n"
		case c.Name == first.Name:
			locals = " flags"
			cases += "\t" + strings.Join(all, "|") + ")\n\t\tflags=(\n" + zshFlags(c.Flags()) +
				"\t\t\t'(- *)--help[print help]'\n\t\t)\n" +
				"\t\t_arguments -S $flags '(-)1:command:_command_names -e' '*::argument:_normal'\n\t\t;;\n"
		}
	}
	return strings.NewReplacer("@NAME", p.Name, "@LOCALS", locals, "@COMMANDS", commands, "@CASES",
		cases).Replace(functionZsh)
}

// zshFlags returns the specifications of _arguments for the flags before a payload, a line for each spelling.
func zshFlags(table []Flag) (lines string) {
	for i := range table {
		f := &table[i]
		for _, name := range f.Spellings() {
			if f.values() == 1 && len(name) > 2 {
				name += "="
				if f.Bare != nil {
					name += "-"
				}
			}
			if f.Many {
				name = "*" + name
			}
			lines += "\t\t\t" + words.Shell(name+zshValues(f)) + "\n"
		}
	}
	return lines
}

// zshValues returns the help of a flag and the completion of its values.
func zshValues(f *Flag) string {
	escape := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`)
	s := "[" + escape.Replace(f.Help) + "]"
	for i, a := range strings.Fields(f.Args) {
		action := ""
		switch {
		case len(f.Words) > 0 && f.Files:
			action = "{_values value " + strings.Join(f.Words, " ") + "; _files}"
		case len(f.Words) > 0:
			action = "(" + strings.Join(f.Words, " ") + ")"
		case f.Files && i == 0:
			action = "_files"
		}
		if f.Bare != nil {
			s += ":"
		}
		s += ":" + escape.Replace(a) + ":" + action
	}
	return s
}

func (p *Program) fish() string {
	first, all := p.payload()
	commands, flags := "# fish completion for "+p.Name+"; load it with: "+p.Name+" completion fish | source\n", ""
	for _, c := range p.all() {
		commands += "complete -c " + p.Name + " -f -n __fish_use_subcommand -a " + c.Name + " -d " +
			words.Shell(c.What) + "\n"
		seen := "complete -c " + p.Name + " -n '__fish_seen_subcommand_from " + c.Name + "'"
		switch {
		case c.Kind == Service:
			commands += fishFlags(seen, c.Flags())
		case c.Kind == Plain && p.WordsOnly:
			commands += seen + " -a " + words.Shell(strings.Join(p.choices(&c), " ")) + "\n"
		case c.Kind == Plain:
			seen = strings.Replace(seen, " -n", " -f -n", 1)
			offer := strings.Join(p.choices(&c), " ")
			if offer, _, _ = strings.Cut(offer, "--"); offer != "" {
				flags += seen + " -a " + words.Shell(strings.TrimSpace(offer)) + "\n"
			}
			flags += fishFlags(seen, c.flags())
		case c.Name == first.Name:
			flags += fishFlags(strings.Replace(seen, c.Name, strings.Join(all, " "), 1), c.Flags())
		}
	}
	return commands + flags
}

func fishFlags(seen string, table []Flag) (lines string) {
	for _, f := range table {
		lines += seen + " -l " + f.Name
		if f.Short != 0 {
			lines += " -s " + string(f.Short)
		}
		switch {
		case f.Args == "" || f.Bare != nil:
		case f.Files:
			lines += " -r -F"
		default:
			lines += " -x"
		}
		if len(f.Words) > 0 {
			lines += " -a " + words.Shell(strings.Join(f.Words, " "))
		}
		lines += " -d " + words.Shell(f.Help) + "\n"
	}
	return lines
}
