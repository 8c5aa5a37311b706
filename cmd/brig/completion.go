package main

import (
	"strings"

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
	return fail(std, "completion: it takes the name of one shell; write brig completion bash, zsh or fish")
}

func commandNames() string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return strings.Join(names, " ")
}

// choices returns the words that may follow a command that makes no jail: its own commands and its flags.
func choices(c command) []string {
	var list []string
	first, _, _ := strings.Cut(c.args, " ")
	switch {
	case c.name == "help":
		list = strings.Fields(commandNames())
		for _, t := range topics() {
			list = append(list, t.name)
		}
	case strings.Contains(first, "|") && !strings.HasPrefix(first, "["):
		list = strings.Split(first, "|")
	}
	for _, f := range plainFlags(c.name) {
		list = append(list, "--"+f.name)
	}
	return append(list, "--help")
}

// bashPlain writes a case for each command that makes no jail. After the first word of a command of brigd it completes
// file names.
func bashPlain() string {
	var b strings.Builder
	for _, c := range commands() {
		if c.jails {
			continue
		}
		files := ""
		if strings.Contains(c.args, "ARG") {
			files = `; ((COMP_CWORD == 2)) || COMPREPLY=($(compgen -f -- "$cur"))`
		}
		words := `COMPREPLY=($(compgen -W "` + strings.Join(choices(c), " ") + `" -- "$cur"))`
		b.WriteString("\t" + c.name + ") " + words + files + "; return ;;\n")
	}
	return b.String()
}

func flagNames(table []flag) string {
	names := []string{"--help"}
	for _, f := range table {
		names = append(names, "--"+f.name)
	}
	return strings.Join(names, " ")
}

// spellings are the ways to write a flag as one word.
func spellings(f flag) []string {
	if f.short != 0 {
		return []string{"-" + string(f.short), "--" + f.name}
	}
	return []string{"--" + f.name}
}

// withValues joins the spellings of the flags that take n words, for a shell's case.
func withValues(table []flag, n int) string {
	var all []string
	for _, f := range table {
		if len(f.args) == n && f.setBare == nil {
			all = append(all, spellings(f)...)
		}
	}
	return strings.Join(all, "|")
}

// bashEnd completes what is no flag, and the command itself.
const bashEnd = `	esac
	if ((${#COMPREPLY[@]} == 0)); then
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$cur"))
	fi
}
_brig_command() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif (($1 == COMP_CWORD)); then
		COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
	else
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
	fi
}
complete -F _brig brig
`

func bashCompletion() string {
	table := flags("run")
	var b strings.Builder
	b.WriteString(`# bash completion for brig; load it with: source <(brig completion bash)
_brig() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} left=0 flag= i
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W "` + commandNames() + `" -- "$cur"))
		return
	fi
	case ${COMP_WORDS[1]} in
	run|explain|spec) ;;
` + bashPlain() + `	*) return ;;
	esac
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == "=" ]]; then left=1; continue; fi # readline breaks --flag=value into three words
		if ((left > 0)); then left=$((left - 1)); continue; fi
		flag=${COMP_WORDS[i]}
		case $flag in
		--) i=$((i + 1)); _brig_command "$i"; return ;;
		` + withValues(table, 1) + `) left=1 ;;
		` + withValues(table, 2) + `) left=2 ;;
		-*) ;;
		*) _brig_command "$i"; return ;;
		esac
	done
	if [[ $cur == "=" ]]; then cur=; left=1; fi
	if ((left == 0)); then
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W "` + flagNames(table) + `" -- "$cur"))
		else
			_brig_command "$COMP_CWORD"
		fi
		return
	fi
	case $flag in
`)
	for _, f := range table {
		names := strings.Join(spellings(f), "|")
		if len(f.words) > 0 {
			b.WriteString("\t" + names + `) COMPREPLY=($(compgen -W "` + strings.Join(f.words, " ") + `" -- "$cur")) ;;` + "\n")
		}
	}
	b.WriteString(bashEnd)
	return b.String()
}
