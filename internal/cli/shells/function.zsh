#compdef @NAME
# zsh completion for @NAME; load it with: source <(@NAME completion zsh)
_@NAME() {
	local -a commands@LOCALS
	commands=(
@COMMANDS	)
	if ((CURRENT == 2)); then
		_describe 'command of @NAME' commands
		return
	fi
	local command=$words[2]
	shift words
	((CURRENT--))
	case $command in
@CASES	esac
}
if [ "$funcstack[1]" = _@NAME ]; then
	_@NAME "$@"
else
	compdef _@NAME @NAME
fi
