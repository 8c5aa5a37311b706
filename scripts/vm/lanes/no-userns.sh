# shellcheck shell=bash
# No user namespaces: no jail, and the reason with the remedy.
# quick: 6.1
echo 0 >/proc/sys/user/max_user_namespaces
for role in root user; do
	expect 125 '^brig: .*user.max_user_namespaces is 0; run `sysctl -w user.max_user_namespaces=[0-9]+` as root' as_"$role" brig run -- true
	expect 1 'user +missing +user.max_user_namespaces is 0' as_"$role" brig doctor
done
