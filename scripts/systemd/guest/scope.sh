# shellcheck shell=bash
# scope.sh: --systemd-scope from where nothing is delegated. Sourced by a user's story and by root's.
manager=(systemctl)
[ "$UID" = 0 ] || manager+=(--user)

brig run --systemd-scope --memory 64m --pids-limit 32 --cpus 0.5 --report "$report" -- true
must 0 ok
must_enforce memory processes cpus
[ -z "$out" ] || fail "something else than the payload has spoken: $out"
brig run --systemd-scope --memory 64m --report "$report" -- python3 -c "$gibibyte"
[ "$(field .status)" = memory ] || fail "1 GiB in 64 MiB ended as $(field .status): $(cat "$report")"

brig run --systemd-scope --memory 64m -- sh -c 'exit 7'
[ "$code" = 7 ] || fail "the payload's exit code 7 came out as $code"
brig run --systemd-scope --memory 64m -- nosuchcommand
[ "$code" = 127 ] || fail "a missing command gave $code, not 127: $out"
brig run --systemd-scope --nosuchflag -- true
[ "$code" = 125 ] || fail "a bad flag gave $code, not 125: $out"

# what a payload is given must not be read on the way
words=('a b' '%n %%' '$HOME ${PATH}' '$$' '' '--user' '*' $'two\nlines' "q'\"\\")
brig run --systemd-scope --memory 64m -- printf '[%s]' "${words[@]}"
[ "$out" = "$(printf '[%s]' "${words[@]}")" ] || fail "arguments have changed: $out"
cd /var/tmp || exit
here=$(VALUE='b $HOME %n' brig run --systemd-scope --memory 64m --pass-env VALUE -- printenv VALUE)
[[ $here == *'b $HOME %n' ]] || fail "the environment has changed: $here"
read -r out < <(echo through | /usr/bin/brig run --systemd-scope --memory 64m -- cat)
[ "$out" = through ] || fail "stdin gave $out"
/usr/bin/brig run --systemd-scope --memory 64m --report-fd 7 -- true 7>"$report" || fail "--report-fd: exit code $?"
[ "$(field .status)" = ok ] || fail "--report-fd gave $(cat "$report")"

# brig learn traces through the move: each run is in a scope of its own, and its answer has the flag
mkdir "$tmp/paper"
echo two >"$tmp/paper/text"
cd "$tmp/paper" || exit
brig learn --systemd-scope --memory 64m -- cat text
[[ $code == 0 && $out == *"brig run --systemd-scope --memory 64m --ro-bind $tmp/paper /work -- cat text"* ]] ||
	fail "brig learn: exit code $code"
brig learn --systemd-scope --memory 64m -- python3 -c "$gibibyte"
[[ $out == *'--memory 256m (not tried)'* ]] || fail "brig learn does not see that memory ran out"
cd /var/tmp || exit

# a command line may hold secrets, and anybody can ask for a unit's description
mkfifo "$tmp/up"
/usr/bin/brig run --systemd-scope --memory 64m -- sh -c 'echo up; exec sleep 1000' hush-hush >"$tmp/up" &
keeper=$!
read -r _ <"$tmp/up"
unit=$(sed -n 's,^0::.*/\([^/]*\.scope\).*,\1,p' "/proc/$keeper/cgroup")
echo "the keeper is in $(cat "/proc/$keeper/cgroup"): $("${manager[@]}" show -P Description "$unit")"
[[ $unit == *.scope && $("${manager[@]}" show -P Delegate "$unit") == yes ]] || fail "the keeper is in no delegated scope"
[[ $("${manager[@]}" show -P Description "$unit") != *hush* ]] || fail "the unit's description shows the command line"
kill -TERM $keeper
wait $keeper

# collected: the manager forgets the scope when its last process has gone
for _ in $(seq 100); do
	"${manager[@]}" list-units --all --no-legend --plain '*.scope' | grep -qF "$unit" || exit 0
	read -rt 0.1 <> <(:)
done
fail "the scope is still there: $("${manager[@]}" status "$unit")"
