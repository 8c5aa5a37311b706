#!/bin/bash
# agents.sh: srt and Codex, as npm has them, run commands with brig as their bubblewrap: under limits, and seen in the
# report. Nothing is asked of a model. Run as root it does everything as an ordinary user, too.
#
#   scripts/agents.sh [BRIG]      the default is bin/brig
#
# The packages are installed into bin/agents, where no commit finds them, and pinned.
set -euo pipefail
cd "$(dirname "$0")/.."
brig=$(realpath "${1:-bin/brig}")
self=$PWD/scripts/agents.sh tools=$PWD/bin/agents
packages=(@anthropic-ai/sandbox-runtime@0.0.83 @openai/codex@0.171.0)

if [ "$(cat "$tools/version" 2>/dev/null)" != "${packages[*]}" ]; then
	rm -rf "$tools"
	mkdir -p "$tools"
	npm install --prefix "$tools" --ignore-scripts --no-audit --no-fund --loglevel=error "${packages[@]}" >&2
	echo "${packages[*]}" >"$tools/version"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/link" "$work/home"
cp "$brig" "$work/bin/brig"
ln "$work/bin/brig" "$work/bin/bwrap"
ln -s "$tools/node_modules/.bin/"{srt,codex} "$work/bin/"
ln -s ../bin/brig "$work/link/bwrap"
export HOME=$work/home BRIG_REPORT=$work/report PATH=$work/bin:$PATH
unset XDG_CONFIG_HOME XDG_STATE_HOME

fail() {
	echo "agents: $*" >&2
	exit 1
}

# expect STATUS CODE COMMAND...: brig reports this status, and the agent ends with this code.
expect() {
	local status=$1 want=$2 code=0
	shift 2
	: >"$BRIG_REPORT"
	"$@" >"$work/out" 2>&1 || code=$?
	grep -q "\"status\":\"\($status\)\"" "$BRIG_REPORT" && [ "$code" = "$want" ] ||
		fail "$*: code $code, $(head -c 200 "$BRIG_REPORT")$(printf '\n'; cat "$work/out"); want $status, $want"
}

# agent COMMAND...: one agent, with a command to follow.
agent() {
	expect ok 0 "$@" true
	expect failed 3 "$@" sh -c 'exit 3'
	expect failed 1 "$@" sh -c 'echo x >/etc/brig-was-here || exit 1'
	BRIG_TIMEOUT=1s expect timeout 124 "$@" sleep 60
	# without a control group RLIMIT_NPROC holds it, which counts nothing
	BRIG_PIDS=20 expect 'processes\|failed' 2 "$@" sh -c 'for i in $(seq 40); do sleep 9 & done 2>/dev/null'
	if "$brig" run --memory 64m -- true 2>/dev/null; then
		BRIG_MEMORY=64m expect memory 137 "$@" python3 -c 'x = bytearray(300 << 20)'
	else
		BRIG_MEMORY=64m "$@" true >"$work/out" 2>&1 && fail "$*: a limit on memory without a control group"
		grep -q 'memory.*control group' "$work/out" || fail "$*: $(cat "$work/out")"
	fi
}

# quoted WORDS: srt takes a line of the shell.
quoted() { srt -c "$(printf '%q ' "$@")"; }

cd "$work/home"
agent quoted
agent codex sandbox --
found=$(brig doctor || true)
grep -q '^srt  *present ' <<<"$found" && grep -q '^codex  *present ' <<<"$found" || fail "doctor: $found"

# Codex does not use brig by a link to a file of that name, and doctor knows.
export PATH=$work/link:$PATH
: >"$BRIG_REPORT"
codex sandbox -- true >"$work/out" 2>&1 || true
[ ! -s "$BRIG_REPORT" ] || fail 'Codex uses brig by a link now: docs/bwrap.md and doctor say that it does not'
found=$(brig doctor || true)
grep -q '^codex  *note .*does not use brig' <<<"$found" || fail "doctor: $found"
echo "agents: srt and Codex use brig, as uid $(id -u)"

if [ "$(id -u)" = 0 ]; then
	user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	if "${user[@]}" test -r "$tools/version"; then
		"${user[@]}" "$self" "$brig"
	else
		echo "agents: not as an ordinary user, who cannot read $tools"
	fi
fi
