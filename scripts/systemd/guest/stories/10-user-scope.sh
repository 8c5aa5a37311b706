. /opt/story/lib.sh
# limits hold for a user in a scope with Delegate=yes
[ "$UID" != 0 ] || { as_agent "$0"; exit; }
[ -n "${1:-}" ] || exec systemd-run --user --scope --quiet --collect -p Delegate=yes -- bash "$0" inside
limits_hold
