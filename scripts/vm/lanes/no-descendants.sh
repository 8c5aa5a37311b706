# shellcheck shell=bash
# The delegated group may have no children: mkdir(2) gives EAGAIN.
# quick: 6.1
set_up_scope() { echo 0 >"$scope/cgroup.max.descendants"; }
expect 0 '' as_delegated brig run -- true
expect 125 '^brig: --memory: .*cgroup\.max\.descendants.*--optional memory' as_delegated brig run --memory 64m -- true
expect 0 '' as_delegated brig run --memory 64m --optional memory -- true
