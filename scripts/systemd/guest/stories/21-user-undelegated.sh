. /opt/story/lib.sh
# a user's service without Delegate= is its owner's to write, and yet systemd's: brig leaves it alone
# (systemd takes the controllers away from groups in it at the next daemon-reload, and their limits are gone)
[ "$UID" != 0 ] || { as_agent "$0"; exit; }
[ -n "${1:-}" ] || exec systemd-run --user --wait --pipe --quiet --collect -- bash "$0" inside
before=$(find "$(own)" -type d; cat "$(own)/cgroup.subtree_control")
brig run --memory 64m -- true
[ "$before" = "$(find "$(own)" -type d; cat "$(own)/cgroup.subtree_control")" ] || fail "brig has changed $(own)"
must_refuse
brig doctor
grep -q 'systemd-run --user --scope -p Delegate=yes' <<<"$out" || fail "doctor does not show the remedy"
