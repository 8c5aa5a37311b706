package main

import (
	"strings"

	"brig/cmd/brigd/internal/config"
	"brig/nsjail"
)

func completionCmd(args []string, std stdio) int {
	shells := []string{"bash", "zsh", "fish"}
	if len(args) == 1 {
		switch args[0] {
		case "bash":
			return emit(std, bashCompletion())
		case "zsh":
			return emit(std, zshCompletion())
		case "fish":
			return emit(std, fishCompletion())
		case "-h", "--help":
			return emit(std, commandHelp("completion"))
		}
		if near := nsjail.Nearest(args[0], shells); near != "" {
			return fail(std, "completion: "+show(args[0])+" is not a known shell; did you mean "+near+"?")
		}
	}
	return fail(std, "completion: it takes the name of one shell; write brigd completion bash, zsh or fish")
}

// choices returns the words that may follow a command without flags of its own.
func choices(c command) string {
	first, _, _ := strings.Cut(c.args, " ")
	switch {
	case c.name == "help":
		return commandNames()
	case c.name == "version":
		return "--json --help"
	case strings.Contains(first, "|"):
		return strings.ReplaceAll(first, "|", " ") + " --help"
	}
	return "--help"
}

func commandNames() string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return strings.Join(names, " ")
}

// settingsOf returns the rows of serve or mcp, and one for --config, which has no key in the file.
func settingsOf(command string) []config.Row {
	return append(config.Rows(command), config.Row{Flag: "--config FILE", Help: "read settings from this JSON file"})
}

// values returns what a shell completes as the value of a flag: words, or files. typed is set where it completes
// nothing.
func values(r config.Row) (words string, files, typed bool) {
	_, value, has := strings.Cut(r.Flag, " ")
	files = strings.Contains(value, "FILE") || value == "DIR"
	return strings.Join(r.Words, " "), files, has && !files && len(r.Words) == 0
}

func bashCompletion() string {
	var b strings.Builder
	b.WriteString(`# bash completion for brigd; load it with: source <(brigd completion bash)
_brigd() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} flags=
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W "` + commandNames() + `" -- "$cur"))
		return
	fi
	case ${COMP_WORDS[1]} in
`)
	for _, c := range commands() {
		if c.name != "serve" && c.name != "mcp" {
			b.WriteString("\t" + c.name + `) COMPREPLY=($(compgen -W "` + choices(c) + `" -- "$cur")); ` +
				`((COMP_CWORD == 2)) || COMPREPLY=($(compgen -f -- "$cur")); return ;;` + "\n")
			continue
		}
		flags := "--help"
		for _, r := range settingsOf(c.name) {
			name, _, _ := strings.Cut(r.Flag, " ")
			flags += " " + name
		}
		b.WriteString("\t" + c.name + ") flags=\"" + flags + "\" ;;\n")
	}
	b.WriteString("\t*) return ;;\n\tesac\n" + // readline breaks --flag=value into three words
		"\tif [[ $prev == \"=\" ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; elif [[ $cur == \"=\" ]]; then cur=; fi\n" +
		"\tcase $prev in\n")
	for _, r := range settingsOf("mcp") { // it has all of serve's
		name, _, _ := strings.Cut(r.Flag, " ")
		switch words, files, typed := values(r); {
		case words != "":
			b.WriteString("\t" + name + `) COMPREPLY=($(compgen -W "` + words + `" -- "$cur")); return ;;` + "\n")
		case files:
			b.WriteString("\t" + name + `) COMPREPLY=($(compgen -f -- "$cur")); return ;;` + "\n")
		case typed:
			b.WriteString("\t" + name + ") return ;;\n")
		}
	}
	b.WriteString("\tesac\n\tCOMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n}\ncomplete -F _brigd brigd\n")
	return b.String()
}

// quoted quotes a word for zsh and fish. It leaves backslashes alone: the help texts have none.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func zshCompletion() string {
	var b strings.Builder
	b.WriteString("#compdef brigd\n# zsh completion for brigd; load it with: source <(brigd completion zsh)\n" +
		"_brigd() {\n\tlocal -a commands\n\tcommands=(\n")
	for _, c := range commands() {
		b.WriteString("\t\t" + quoted(c.name+":"+c.what) + "\n")
	}
	b.WriteString("\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe 'command of brigd' commands\n\t\treturn\n\tfi\n" +
		"\tlocal command=$words[2]\n\tshift words\n\t((CURRENT--))\n\tcase $command in\n")
	escape := strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`)
	for _, c := range commands() {
		if c.name != "serve" && c.name != "mcp" {
			b.WriteString("\t" + c.name + ") if ((CURRENT == 2)); then compadd -- " + choices(c) + "; else _files; fi ;;\n")
			continue
		}
		b.WriteString("\t" + c.name + ") _arguments '(- *)--help[print help]'")
		for _, r := range settingsOf(c.name) {
			name, value, _ := strings.Cut(r.Flag, " ")
			spec := "*" + name + "[" + escape.Replace(r.Help) + "]"
			switch words, files, typed := values(r); {
			case words != "":
				spec += ":" + value + ":(" + words + ")"
			case files:
				spec += ":" + value + ":_files"
			case typed:
				spec += ":" + escape.Replace(value) + ":"
			}
			b.WriteString(" \\\n\t\t" + quoted(spec))
		}
		b.WriteString(" ;;\n")
	}
	b.WriteString("\tesac\n}\n" +
		"if [ \"$funcstack[1]\" = _brigd ]; then\n\t_brigd \"$@\"\nelse\n\tcompdef _brigd brigd\nfi\n")
	return b.String()
}

func fishCompletion() string {
	var b strings.Builder
	b.WriteString("# fish completion for brigd; load it with: brigd completion fish | source\n")
	for _, c := range commands() {
		b.WriteString("complete -c brigd -f -n __fish_use_subcommand -a " + c.name + " -d " + quoted(c.what) + "\n")
		seen := "complete -c brigd -n '__fish_seen_subcommand_from " + c.name + "'"
		if c.name != "serve" && c.name != "mcp" {
			b.WriteString(seen + " -a " + quoted(choices(c)) + "\n")
			continue
		}
		for _, r := range settingsOf(c.name) {
			name, _, _ := strings.Cut(strings.TrimPrefix(r.Flag, "--"), " ")
			line := seen + " -l " + name
			switch words, files, typed := values(r); {
			case words != "":
				line += " -x -a " + quoted(words)
			case files:
				line += " -r -F"
			case typed:
				line += " -x"
			}
			b.WriteString(line + " -d " + quoted(r.Help) + "\n")
		}
	}
	return b.String()
}
