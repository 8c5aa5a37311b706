. /opt/story/lib.sh
# root in a service without Delegate= is refused, though it could write: no group of the machine has changed
# groups SNAPSHOT: every group with its controllers
groups() { find /sys/fs/cgroup -type d | sort | while read -r dir; do echo "$dir: $(cat "$dir/cgroup.subtree_control")"; done; }

before=$(groups)
brig run --memory 64m -- true
[ "$(groups)" = "$before" ] || fail "groups have changed: $(diff <(echo "$before") <(groups))"
must_refuse
brig run --optional memory --memory 64m --report "$report" -- true
must 0 ok
[ "$(groups)" = "$before" ] || fail "groups have changed with --optional: $(diff <(echo "$before") <(groups))"
