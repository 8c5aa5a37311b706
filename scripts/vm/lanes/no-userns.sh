# shellcheck shell=bash
# No user namespaces: no jail, and the reason with the remedy. Where the kernel's Landlock suffices, Linux 6.12, the
# reason also names the tier without namespaces and what it gives up; it is never used by itself, and it works.
echo 0 >/proc/sys/user/max_user_namespaces
why='^brig: .*user.max_user_namespaces is 0; run `sysctl -w user.max_user_namespaces=[0-9]+` as root'
tier='; or run it without namespaces, which is weaker: --tier process \(the payload can probe the host.s file names and'
tier+=' processes, and nothing in a writable directory is protected; brig help tier\)'
case $(uname -r) in
6.1.*) tier= ;;
esac
for role in root user; do
	expect 125 "$why$tier\$" as_"$role" brig run -- true
	expect 1 'user +missing +user.max_user_namespaces is 0' as_"$role" brig doctor
	if [ -z "$tier" ]; then
		expect 125 'needs Landlock of ABI 6' as_"$role" brig run --tier process -- true
		continue
	fi
	expect 1 'permits jails without namespaces, too: --tier process$' as_"$role" brig doctor
	expect 0 '^42$' as_"$role" brig run --tier process --timeout 10s -- python3 -c 'print(6 * 7)'
	expect 2 'Permission denied' as_"$role" brig run --tier process -- ls /root
	expect 0 '"pid": "not enforced: no namespace' as_"$role" brig run --tier process --report - -- true
done
