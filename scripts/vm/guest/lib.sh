# shellcheck shell=bash
# lib.sh: the words of a lane script: suite, expect, as_user. Sourced by lane; descriptor 3 is the way out for results.

uid=54321 # the suites' ordinary user, as in internal/testuser
export BRIG_TEST_BINARY=/brig/bin/brig PATH=/brig/bin:$PATH
results=0 failures=0

# result CODE SECONDS NAME: one line on the terminal of whoever waits; any code but 0 fails the lane.
result() {
	results=$((results + 1))
	[ "$1" -eq 0 ] || failures=$((failures + 1))
	printf 'result %s %s %s\n' "$1" "$2" "${3//[^[:print:]]/?}" >&3
}

# timed NAME COMMAND...: run a command and report it.
timed() {
	local name=$1 begin=$SECONDS code=0
	shift
	echo "=== $name"
	"$@" || code=$?
	echo "=== $name: exit code $code"
	result "$code" $((SECONDS - begin)) "$name"
}

# as_user COMMAND...: as the suites' user, inside the delegated group where there is one, with what a login gives.
as_user() {
	(
		home=/tmp/home
		mkdir -p "$home"
		chown "$uid:$uid" "$home"
		if [ -d "$delegated" ]; then echo "$BASHPID" >"$delegated/cgroup.procs"; fi
		cd "$home" || exit
		exec env HOME="$home" TMPDIR="$home" BRIG_VM_DIR="$OLDPWD" \
			setpriv --reuid "$uid" --regid "$uid" --clear-groups --inh-caps=-all \
			bash -c 'cd "$BRIG_VM_DIR" && exec "$@"' as_user "$@"
	)
}

# suite ROLE PACKAGE [TEST-FLAG...]: a package's tests as root or as user, in the package's directory. VM_RUN, where it is
# set, takes the place of the lane's own selection.
suite() {
	local role=$1 package=$2 run=()
	shift 2
	local bin=/brig/bin/${package//\//_}.test
	[ -z "$VM_RUN" ] || run=(-test.run="$VM_RUN")
	if [ ! -x "$bin" ]; then return; fi # a package without tests
	cd "/brig/$package" || return
	set -- "$bin" -test.v -test.timeout=30m "$@" "${run[@]}"
	if [ "$role" = user ]; then set -- as_user "$@"; fi
	BRIG_TEST_ONLY=root timed "$package as $role" "$@"
	cd / || return
}

# expect CODE PATTERN COMMAND...: the command's exit code, and a line of its output that the extended regular expression
# matches; an empty PATTERN wants no output at all.
expect() {
	local want=$1 pattern=$2 code=0 out begin=$SECONDS bad=
	shift 2
	out=$("$@" 2>&1) || code=$?
	[ "$code" -eq "$want" ] || bad="exit code $code, want $want"
	if [ -n "$pattern" ]; then
		grep -qE -- "$pattern" <<<"$out" || bad+="${bad:+; }no line matches $pattern"
	else
		[ -z "$out" ] || bad+="${bad:+; }there is output"
	fi
	printf '=== %s\n%s\n=== exit code %d\n' "$*" "$out" "$code"
	if [ -n "$bad" ]; then
		echo "--- FAIL: $bad"
		result 1 $((SECONDS - begin)) "$*: $bad"
	else
		result 0 $((SECONDS - begin)) "$*"
	fi
}

# full says that this is the full set: a lane leaves the slow parts out of the quick one.
full() { [ "$VM_SET" = full ]; }
