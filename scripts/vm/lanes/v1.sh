# shellcheck shell=bash
# Pure cgroup v1: no cgroup2 tree at all.
# layout: v1
# kernels: 6.1
expect 0 '' as_root brig run --memory 64m --pids-limit 64 --cpus 0.5 -- true
expect 125 '^brig: --memory: control group: .*--optional memory$' as_user brig run --memory 64m -- true
expect 0 '' as_user brig run --memory 64m --optional memory -- true
expect 0 '^held$' /brig/scripts/vm/delegate.sh
suite root cgroup -test.short
suite root nsjail/internal/launcher -test.short
suite root nsjail -test.short -test.run='TestLimitTaken/(TCP|UDP|netlink)|TestLimitFiles/memory'
