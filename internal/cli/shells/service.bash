# bash completion for @NAME; load it with: source <(@NAME completion bash)
_@NAME() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} flags=
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W "@COMMANDS" -- "$cur"))
		return
	fi
	case ${COMP_WORDS[1]} in
@CASES	*) return ;;
	esac
	if [[ $prev == "=" ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; elif [[ $cur == "=" ]]; then cur=; fi
	case $prev in
@VALUES	esac
	COMPREPLY=($(compgen -W "$flags" -- "$cur"))
}
complete -F _@NAME @NAME
