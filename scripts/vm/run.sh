#!/bin/bash
# run.sh KERNEL LANE...: boot a kernel once for each lane and run the lane in it.
#   KERNEL: 6.1, 6.12 or a Debian package; LANE: the name of a script in lanes/, without .sh
#   VM_ARCH=amd64|arm64 (amd64), VM_SET=quick|full (full), VM_RUN=PATTERN (tests, as for go test -run), VM_TIMEOUT=SECONDS a boot (full: 3600, quick: 900),
#   VM_ACCEL, VM_SMP, VM_MEM: see boot.sh; VM_CACHE: where everything is kept (bin/vm)
# exit: 0 passed, 1 a test failed, 2 a guest did not finish, twice
. "$(dirname "$0")/lib.sh"
[ $# -ge 2 ] || die 'usage: run.sh KERNEL LANE...'
name=$1
shift

# header LANE WORD: what the lane's opening comment says after "# WORD:".
header() { sed -n "s/^# $2: *//p" "$vm/lanes/$1.sh"; }

# params LANE: what the guest is told, as shell assignments.
params() {
	local layout
	layout=$(header "$1" layout)
	printf '%s=%q\n' VM_LANE "scripts/vm/lanes/$1.sh" VM_LAYOUT "${layout:-v2}" VM_SET "${VM_SET:-full}" VM_RUN "${VM_RUN:-}" VM_ACCEL "$VM_ACCEL"
}

# show LANE: results as they come, one line each.
show() {
	local word code seconds what
	while read -r word code seconds what; do
		[ "$word" = result ] || continue
		if [ "$code" -eq 0 ]; then word=ok; else word=FAIL; fi
		printf 'vm %-5s %-12s %-4s %4s s  %s\n' "$name" "$1" "$word" "$seconds" "$what"
	done
}

# keep LANE DIRECTORY: the logs, for a human.
keep() {
	local logs=$cache/logs/$arch-$name-${1//\//-}
	rm -rf "$logs"
	mkdir -p "$logs"
	mv "$2"/{control,log,kernel.log,qemu.log} "$logs/" 2>/dev/null || true
	say "$name $1: the logs are in $logs"
	[ ! -e "$logs/log" ] || grep -aE '^ *--- FAIL' "$logs/log" | head -n 30 >&2 || true
}

# attempt LANE: 0, 1, or 2 when the guest did not come to its end.
attempt() {
	local dir code append
	append=$(header "$1" append)
	dir=$(mktemp -d "$cache/run.XXXXXX")
	params "$1" >"$dir/params"
	# shellcheck disable=SC2086 # the header holds words
	"$vm/boot.sh" "$dir" "$kernel" $append 2>"$dir/qemu.log" | show "$1" || true
	case $(grep -a '^exit ' "$dir/control" | tail -n 1) in
	'exit 0') code=0 ;;
	exit*) code=1 ;;
	*) code=2 ;;
	esac
	if [ "$code" -eq 0 ]; then rm -rf "$cache/logs/$arch-$name-${1//\//-}"; else keep "$1" "$dir"; fi
	if [ "$code" -eq 2 ]; then tail -n 5 "$cache/logs/$arch-$name-${1//\//-}"/{kernel.log,qemu.log} >&2 || true; fi
	rm -rf "$dir"
	return "$code"
}

for lane; do [ -e "$vm/lanes/$lane.sh" ] || die "there is no lane $lane in $vm/lanes"; done
kernel=$("$vm/kernel.sh" "$name")
VM_ROOT=${VM_ROOT:-$("$vm/root.sh")}
VM_PAYLOAD=${VM_PAYLOAD:-$("$vm/payload.sh")}
VM_ACCEL=${VM_ACCEL:-$("$vm/accel.sh" "$kernel")}
export VM_ROOT VM_PAYLOAD VM_ACCEL VM_TIMEOUT=${VM_TIMEOUT:-$([ "${VM_SET:-full}" = full ] && echo 3600 || echo 900)}
worst=0
for lane; do
	code=0
	attempt "$lane" || code=$?
	if [ "$code" -eq 2 ]; then
		say "$name $lane: the guest did not finish; once more"
		code=0
		attempt "$lane" || code=$?
	fi
	[ "$code" -eq 0 ] || printf 'vm %-5s %-12s %s\n' "$name" "$lane" "$([ "$code" -eq 1 ] && echo FAILED || echo 'DID NOT FINISH')"
	# a failed test says more than a guest that did not finish
	if [ "$worst" -ne 1 ] && [ "$code" -ne 0 ]; then worst=$code; fi
done
exit "$worst"
