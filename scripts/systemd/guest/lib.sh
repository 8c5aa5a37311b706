# shellcheck shell=bash
# lib.sh: what the stories share. Sourced, with bash; the first thing that is not as it should be ends the story.
set -uo pipefail
tmp=$(mktemp -d)
chmod 755 "$tmp"
report=$tmp/report.json

fail() {
	echo "FAIL: $*"
	exit 1
}

# remedy is what brig must say where it may not make groups.
remedy='systemd-run .*--scope -p Delegate=yes|--systemd-scope'

# gibibyte is a payload that takes so much, in pieces: the kernel would refuse the whole at once.
gibibyte='held = [bytearray(1 << 20) for _ in range(1024)]'

# own is the directory of the caller's group.
own() { echo "/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)"; }

# as_agent SCRIPT [ARG...]: run a script as the user in a new login session, which nothing is delegated to.
as_agent() { su -l agent -c "exec bash $(printf '%q ' "$@")"; }

# brig ARG...: the binary, its output in $out and its exit code in $code; the report is in $report.
brig() {
	rm -f "$report"
	out=$(/usr/bin/brig "$@" 2>&1)
	code=$?
	echo "+ brig $*: exit $code: $out"
}

# field FILTER: a member of the report, by jq(1).
field() { jq -r "$1" "$report"; }

# must CODE STATUS: how the last brig must have ended.
must() {
	[ "$code" = "$1" ] || fail "exit code $code, not $1: $out"
	[ -e "$report" ] || fail "no report was written: $out"
	[ "$(field .status)" = "$2" ] || fail "status $(field .status), not $2: $(cat "$report")"
}

# must_refuse: the last brig must have run nothing, for a reason that names what to do.
must_refuse() {
	[ "$code" = 125 ] || fail "exit code $code, not 125 where nothing is delegated: $out"
	grep -Eq -e "$remedy" <<<"$out" || fail "the refusal names no remedy: $out"
}

# must_enforce LIMIT...: the report must name version 2 of cgroups as what holds each.
must_enforce() {
	local each
	for each; do
		[[ $(field ".enforced.$each") == cgroup2* ]] || fail "enforced.$each is $(field ".enforced.$each"), not by cgroup2"
	done
}

# must_be_clean: below the caller's delegated unit stands at most one group, the leaf that the caller was moved to.
must_be_clean() {
	local unit dir dirs
	unit=$(own | sed -E 's,^(.*\.(scope|service))(/.*)?$,\1,')
	mapfile -t dirs < <(find "$unit" -mindepth 1 -type d)
	[ "${#dirs[@]}" -le 1 ] || fail "groups are left: ${dirs[*]}"
	for dir in "${dirs[@]}"; do
		grep -qx $$ "$dir/cgroup.procs" || fail "$dir is left, and the caller is not in it"
	done
}

# limits_hold: the three limits in a place that is delegated.
limits_hold() {
	local flags=(run --report "$report" --memory 64m --pids-limit 32 --cpus 0.5)
	brig "${flags[@]}" -- python3 -c 'print("in the jail")'
	must 0 ok
	must_enforce memory processes cpus
	brig "${flags[@]}" -- python3 -c "$gibibyte"
	[ "$(field .status)" = memory ] || fail "1 GiB in 64 MiB ended as $(field .status): $(cat "$report")"
	brig "${flags[@]}" -- python3 -c "$(cat /opt/story/payload/forks.py)"
	[[ $code = 0 && $out =~ ^[0-9]+$ && $out -gt 4 && $out -le 32 ]] || fail "of 100 forks under a limit of 32 succeeded: $out"
	brig "${flags[@]}" -- python3 -c 'import time
while time.process_time() < 0.5: pass'
	must 0 ok
	# the kernel counts periods of 100 ms, and 50 ms of each are for the jail
	[ "$(field '.usage | .throttled_periods > 0 and .user_ms + .system_ms <= 55 * (.periods + 1)')" = true ] ||
		fail "--cpus 0.5 did not hold: $(field .usage)"
	must_be_clean
}
