# shellcheck shell=bash
# No cgroup file system is mounted.
# layout: none
# quick: 6.12
for role in root user; do
	expect 0 '' as_"$role" brig run -- true
	expect 125 '^brig: --memory: .*--optional memory$' as_"$role" brig run --memory 64m -- true
	expect 0 '' as_"$role" brig run --memory 64m --optional memory -- true
done
