. /opt/story/lib.sh
# --systemd-scope without a user bus is refused as what cannot be made: 125 and one line
[ "$UID" != 0 ] || { as_agent "$0"; exit; }
unset XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS
brig run --systemd-scope --memory 64m -- true
[ "$code" = 125 ] || [ "$code" = 0 ] || fail "exit code $code, not 125 (or 0, by finding the bus): $out"
export XDG_RUNTIME_DIR=/nowhere
brig run --systemd-scope --memory 64m -- true
[ "$code" = 125 ] || fail "exit code $code, not 125: $out"
grep -Eq "bus|XDG_RUNTIME_DIR" <<<"$out" || fail "the refusal does not name the bus: $out"
[[ $out != *$'\n'* ]] || fail "the refusal is not one line: $out"
