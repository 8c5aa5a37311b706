# shellcheck shell=bash
# lib.sh: the words of a lane script: suite, expect, as_user and others. Sourced by lane; descriptor 3 is the way out for results.

uid=54321 # the suites' ordinary user, as in internal/test/asuser
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

# as_root COMMAND...: as it is.
as_root() { "$@"; }

# as_user COMMAND...: as the suites' user, with what a login gives, and no control group of its own.
as_user() { (login_as_user "$@"); }

# as_delegated COMMAND...: as the suites' user in a new group that is delegated to it, $scope, as
# `systemd-run --user --scope -p Delegate=yes COMMAND...` does. A lane may redefine set_up_scope.
as_delegated() {
	scopes=$((scopes + 1))
	scope=/sys/fs/cgroup/user.slice/run-$scopes.scope
	delegate "$scope" "$uid"
	set_up_scope
	(echo "$BASHPID" >"$scope/cgroup.procs" && login_as_user "$@")
}
scopes=0
set_up_scope() { :; }

# login_as_user COMMAND...: in place of this shell, in its directory.
login_as_user() {
	local home=/tmp/home
	mkdir -p "$home"
	chown "$uid:$uid" "$home"
	exec env HOME="$home" TMPDIR="$home" setpriv --reuid "$uid" --regid "$uid" --clear-groups --inh-caps=-all "$@"
}

# Tests whose limits, of 50 to 500 ms, are shorter than the start of a jail under emulation.
hurried='TestTimeoutKillsTheTree|TestWallLimitIsReported|TestWallLimitKeepsTheUsage'

# suite ROLE PACKAGE [TEST-FLAG...]: a package's tests as root, user or delegated, in the package's directory. VM_RUN, where it is
# set, takes the place of the lane's own selection.
suite() {
	local role=$1 package=$2 run=() skip=()
	shift 2
	local name=${package//\//_}.test
	local bin=/tmp/suite/$name # below /tmp, where go test has it, too: some tests build roots of the usual directories
	[ -z "$VM_RUN" ] || run=(-test.run="$VM_RUN")
	[ "$VM_ACCEL" = kvm ] || skip=(-test.skip="$hurried")
	[ -x "/brig/bin/$name" ] || return 0 # a package without tests
	mkdir -p /tmp/suite
	cp "/brig/bin/$name" "$bin"
	cd "/brig/$package" || return
	set -- "$bin" -test.v -test.timeout=30m "$@" "${run[@]}" "${skip[@]}"
	BRIG_TEST_ONLY=root timed "$package as $role" "as_$role" "$@"
	cd / || return
}

# expect CODE PATTERN COMMAND...: the command's exit code, and a line of its output that the extended regular expression
# matches; an empty PATTERN wants no output at all.
expect() {
	local want=$1 pattern=$2 code=0 out begin=$SECONDS bad=
	shift 2
	"$@" >/run/expect 2>&1 || code=$? # no command substitution: as_delegated counts its scopes
	out=$(tr -d '\000' </run/expect)
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

# full reports whether this is the full set.
full() { [ "$VM_SET" = full ]; }

# The quick set's part of nsjail: starts, ends, mounts, identities, limits and refusals, and of the attacks (each starts
# Python, which takes seconds under emulation) a few that lean on the kernel most.
quick_nsjail='TestExitCodes|TestSignalKillEndsEverything|TestCPUTime|TestReadOnly|TestRootfs$|TestIdentity|TestProcessLimit|TestTmpfsLimits'
quick_nsjail+='|TestLimitFiles|TestLimitMemory$|TestLimitTaken/(TCP|UDP|netlink)|TestLimitProcesses$|TestLimitCPUTimeOfTree|TestLimitCannotBeLifted|TestLimitsOfThisCaller'
quick_nsjail+='|TestEgressAllowsNothing|TestEgressEveryPort|TestEgressThroughARunner|TestPublish$|TestRefusedMessage|TestVolume|TestData$|TestPrestart|TestWhatIsDoneAtOnce'
quick_nsjail+='|TestEscape/^(ns-clone|cap-host-root|cap-group|plant-bind|host-flood-tmpfs)$'

# suites ROLE: all packages whose tests speak to the kernel. Those of seccomp that compute only are left out.
suites() {
	local short=(-test.short) nsjail=(-test.run="$quick_nsjail") cli='TestScript/^limits|TestCloneIntoCgroup'
	if full; then short=() nsjail=() cli='TestScript|TestTerminal|TestTTY|TestKeys|TestStop|TestDoctor|TestCloneIntoCgroup'; fi
	suite "$1" cgroup "${short[@]}"
	suite "$1" seccomp "${short[@]}" -test.run='^TestLive'
	suite "$1" nsjail/internal/launcher "${short[@]}"
	suite "$1" nsjail "${short[@]}" "${nsjail[@]}"
	suite "$1" brigd/workspace "${short[@]}"
	suite "$1" brigd/engine "${short[@]}" -test.run='^(TestRun|TestSandbox|TestStream|TestCancel|TestManyAtOnce)$'
	suite "$1" brigd/internal/api -test.run='^TestRealUsage$'
	suite "$1" cmd/brig "${short[@]}" -test.run="$cli"
}
