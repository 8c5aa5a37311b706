. /opt/story/lib.sh
# a login session is not delegated: brig refuses, names the remedy, and doctor shows it
[ "$UID" != 0 ] || { as_agent "$0"; exit; }
[[ $(own) == */session-*.scope ]] || fail "this is no session: $(own)"
brig run --memory 64m -- true
must_refuse
[[ $out != *$'\n'* ]] || fail "the refusal is not one line: $out"
brig run --optional memory --memory 64m --report "$report" -- true
must 0 ok
brig doctor
grep -q 'systemd-run --user --scope -p Delegate=yes' <<<"$out" || fail "doctor does not show the remedy"
