# bash completion for @NAME; load it with: source <(@NAME completion bash)
_@NAME() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} left=0 flag= i
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W "@COMMANDS" -- "$cur"))
		return
	fi
	case ${COMP_WORDS[1]} in
@CASES	*) return ;;
	esac
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == "=" ]]; then left=1; continue; fi # readline breaks --flag=value into three words
		if ((left > 0)); then left=$((left - 1)); continue; fi
		flag=${COMP_WORDS[i]}
		case $flag in
		--) i=$((i + 1)); _@NAME_command "$i"; return ;;
		@ONE_VALUE) left=1 ;;
		@TWO_VALUES) left=2 ;;
		-*) ;;
		*) _@NAME_command "$i"; return ;;
		esac
	done
	if [[ $cur == "=" ]]; then cur=; left=1; fi
	if ((left == 0)); then
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W "@FLAGS" -- "$cur"))
		else
			_@NAME_command "$COMP_CWORD"
		fi
		return
	fi
	case $flag in
@VALUES	esac
	if ((${#COMPREPLY[@]} == 0)); then
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$cur"))
	fi
}
_@NAME_command() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif (($1 == COMP_CWORD)); then
		COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
	else
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
	fi
}
complete -F _@NAME @NAME
