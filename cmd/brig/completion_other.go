package main

import "strings"

// zshCompletion is a function for a directory of $fpath, or for eval.
func zshCompletion() string {
	var b strings.Builder
	b.WriteString("#compdef brig\n# zsh completion for brig; load it with: source <(brig completion zsh)\n_brig() {\n\tlocal -a commands flags\n\tcommands=(\n")
	for _, c := range commands() {
		b.WriteString("\t\t" + shellQuote(c.name+":"+c.what) + "\n")
	}
	b.WriteString("\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe 'command of brig' commands\n\t\treturn\n\tfi\n" +
		"\tlocal command=$words[2]\n\tshift words\n\t((CURRENT--))\n\tcase $command in\n\trun|explain|spec)\n\t\tflags=(\n")
	for _, f := range flags("run") {
		for _, name := range spellings(f) {
			b.WriteString("\t\t\t" + shellQuote(zshFlag(f, name)) + "\n")
		}
	}
	b.WriteString("\t\t\t'(- *)--help[print help]'\n\t\t)\n\t\t_arguments -S $flags '(-)1:command:_command_names -e' '*::argument:_normal'\n\t\t;;\n" +
		zshPlain() + "\tesac\n}\nif [ \"$funcstack[1]\" = _brig ]; then\n\t_brig \"$@\"\nelse\n\tcompdef _brig brig\nfi\n")
	return b.String()
}

// zshPlain writes a case for each command that makes no jail.
func zshPlain() string {
	var b strings.Builder
	for _, c := range commands() {
		if !c.jails {
			words := strings.Join(choices(c), " ")
			b.WriteString("\t" + c.name + ") if ((CURRENT == 2)); then compadd -- " + words + "; else _files; fi ;;\n")
		}
	}
	return b.String()
}

// zshFlag is one specification of _arguments.
func zshFlag(f flag, name string) string {
	escape := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`)
	s := name
	if f.many {
		s = "*" + s
	}
	if len(f.args) == 1 && len(name) > 2 {
		s += "="
		if f.setBare != nil {
			s += "-"
		}
	}
	s += "[" + escape.Replace(f.help) + "]"
	for i, a := range f.args {
		action := ""
		switch {
		case len(f.words) > 0 && f.files:
			action = "{_values value " + strings.Join(f.words, " ") + "; _files}"
		case len(f.words) > 0:
			action = "(" + strings.Join(f.words, " ") + ")"
		case f.files && i == 0:
			action = "_files"
		}
		colon := ":"
		if f.setBare != nil {
			colon = "::"
		}
		s += colon + escape.Replace(a) + ":" + action
	}
	return s
}

// fishCompletion is a file for ~/.config/fish/completions.
func fishCompletion() string {
	var b strings.Builder
	b.WriteString("# fish completion for brig; load it with: brig completion fish | source\n")
	for _, c := range commands() {
		b.WriteString("complete -c brig -f -n __fish_use_subcommand -a " + c.name + " -d " + shellQuote(c.what) + "\n")
	}
	jail := "complete -c brig -n '__fish_seen_subcommand_from run explain spec'"
	for _, f := range flags("run") {
		line := jail + " -l " + f.name
		if f.short != 0 {
			line += " -s " + string(f.short)
		}
		switch {
		case len(f.args) > 0 && f.setBare == nil && f.files:
			line += " -r -F"
		case len(f.args) > 0 && f.setBare == nil:
			line += " -x"
		}
		if len(f.words) > 0 {
			line += " -a " + shellQuote(strings.Join(f.words, " "))
		}
		b.WriteString(line + " -d " + shellQuote(f.help) + "\n")
	}
	for _, c := range commands() {
		if c.jails {
			continue
		}
		seen := "complete -c brig -f -n '__fish_seen_subcommand_from " + c.name + "'"
		var words []string
		for _, w := range choices(c) {
			if !strings.HasPrefix(w, "-") {
				words = append(words, w)
			}
		}
		if len(words) > 0 {
			b.WriteString(seen + " -a " + shellQuote(strings.Join(words, " ")) + "\n")
		}
		for _, f := range plainFlags(c.name) {
			value := ""
			if len(f.args) > 0 {
				value = " -x"
			}
			b.WriteString(seen + " -l " + f.name + value + " -d " + shellQuote(f.help) + "\n")
		}
	}
	return b.String()
}

// shellQuote writes a word for bash and zsh. The help texts hold no backslash, so fish reads it too.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
