#!/bin/bash
# selftest.sh: the exit codes of run.sh, with guests that pass, fail, say nothing, panic and hang. About 40 s.
. "$(dirname "$0")/lib.sh"
kernel=${1:-6.1}
VM_PAYLOAD=${VM_PAYLOAD:-$("$vm/payload.sh")}
export VM_PAYLOAD
out=$(mktemp)
trap 'rm -f "$out"' EXIT
bad=0

# check CODE ATTEMPTS LANE...: run.sh's exit code, and how often the last lane was tried.
check() {
	local want=$1 attempts=$2 code=0 tried
	shift 2
	"$vm/run.sh" "$kernel" "${@/#/selftest/}" >"$out" 2>&1 || code=$?
	tried=$((1 + $(grep -c 'once more$' "$out" || true)))
	if [ "$code" -eq "$want" ] && [ "$tried" -eq "$attempts" ]; then
		echo "ok    $*: exit code $code, tried $tried times"
	else
		echo "FAIL  $*: exit code $code, tried $tried times; want $want and $attempts"
		cat "$out"
		bad=1
	fi
}

check 0 1 pass
check 1 1 fail
check 1 1 silent
check 2 2 crash
check 1 2 crash fail # a failed test counts more than a guest that did not finish
VM_TIMEOUT=${VM_HANG:-20} check 2 2 hang
exit "$bad"
