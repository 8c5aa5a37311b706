# shellcheck shell=bash
# The cgroup file system is mounted read-only, as in most containers.
# quick: 6.1
mount -o remount,bind,ro /sys/fs/cgroup
for role in root user; do
	expect 0 '' as_"$role" brig run -- true
	expect 125 '^brig: --memory: control group: .*read-only.*--optional memory$' as_"$role" brig run --memory 64m -- true
	expect 0 '' as_"$role" brig run --memory 64m --optional memory -- true
done
