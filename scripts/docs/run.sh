#!/bin/bash
# shellcheck disable=SC2034 # the variables are for the commands
# run.sh COMMANDS CHECKOUT: execute a list of documented commands on this machine, which is a bare one: see test.sh.
# exit: 0 all did what the documents promise, 1 one did not
set -uo pipefail
list=$(realpath "$1") checkout=$(realpath "$2")
groups= # a word for the list: the command needs a control group
servers=() section='' failed=0 done=0 own=0

ended() { # ends the background programs
	local each n
	for each in "${servers[@]}"; do
		kill -- "-$each" 2>/dev/null
		wait "$each" 2>/dev/null
		for n in $(seq 100); do kill -0 -- "-$each" 2>/dev/null || break; sleep 0.1; done # what the shell had started
	done
	servers=()
	rm -f brigd.sock
}
trap ended EXIT

answers() { # SOCKET|tcp:ADDRESS:PORT: waits until a server accepts
	local n address
	for n in $(seq 100); do
		case $1 in
		tcp:*)
			address=${1#tcp:}
			if (exec 3<>"/dev/tcp/${address%:*}/${address##*:}") 2>/dev/null; then return; fi
			;;
		*) if curl -s --unix-socket "$1" http://brigd/healthz >/dev/null; then return; fi ;;
		esac
		sleep 0.1
	done
	echo "docs: nothing answers at $1"
	return 1
}

fail() {
	echo "docs: FAIL: $section: $1"
	failed=1
	if [ "$section" = 'README, installing' ]; then exit 1; fi # the rest needs it
}

# begin NAME: a new section
begin() {
	ended
	section=$1
	cd "$(mktemp -d)" || exit 1
	unset XDG_RUNTIME_DIR
	echo "== $section"
}

while IFS= read -r line <&3; do
	kind=${line:0:1} text=${line:2}
	if [ "$kind" = @ ]; then own=0; fi
	if [ "${line:0:2}" = @\* ]; then own=1 text=${line:3}; fi
	if [ "$(id -u)" -ne 0 ] && { [ "$own" = 0 ] || [[ $text == *'$groups'* ]]; }; then continue; fi
	real=${text##* ==> } shown=${text%% ==> *}
	case $kind in
	@) begin "$text" ;;
	+) eval "$text" || fail "$text" ;;
	'$')
		echo "\$ $shown"
		(eval "set -e; $real") </dev/null || fail "$real"
		done=$((done + 1))
		;;
	'&')
		echo "& $shown"
		set -m
		eval "{ ${real%&}; } </dev/null &"
		servers+=($!)
		set +m
		done=$((done + 1))
		;;
	esac
done 3<"$list"
ended
echo "docs: $done commands"
exit "$failed"
