# shellcheck shell=bash
# A kernel without the memory controller: a memory limit is refused or given up, never silently lost.
# layout: v2
# quick: 6.1
# append: cgroup_disable=memory
for role in root delegated; do
	expect 0 '' as_"$role" brig run -- true
	expect 125 '^brig: --memory: .*--optional memory$' as_"$role" brig run --memory 64m -- true
	expect 0 '' as_"$role" brig run --memory 64m --optional memory -- true
	expect 0 '' as_"$role" brig run --pids-limit 64 --cpus 0.5 -- true
done
