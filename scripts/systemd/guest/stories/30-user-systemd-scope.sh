. /opt/story/lib.sh
# --systemd-scope makes a user's jail in a scope of its own, and everything else is as without it
[ "$UID" != 0 ] || { as_agent "$0"; exit; }
. /opt/story/scope.sh
