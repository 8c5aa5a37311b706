# shellcheck shell=bash
# The controllers by v1, beside a cgroup2 tree without any: root has limits, an ordinary user has none.
# layout: hybrid
# kernels: 6.1
expect 0 '' as_root brig run --memory 64m --pids-limit 64 --cpus 0.5 -- true
expect 125 '^brig: --memory: control group: .*--optional memory$' as_user brig run --memory 64m -- true
expect 0 '' as_user brig run --memory 64m --optional memory -- true
suite root cgroup -test.short
suite root nsjail/internal/launcher -test.short
