. /opt/story/lib.sh
# --systemd-scope makes root's jail in a system scope of its own
. /opt/story/scope.sh
