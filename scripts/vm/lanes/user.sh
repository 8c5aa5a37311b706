# shellcheck shell=bash
# The suites as an ordinary user to whom a cgroup subtree is delegated, on pure cgroup v2.
# layout: v2
# sets: quick full
delegate "$delegated" "$uid"
for package in cgroup cgroup/monitor seccomp nsjail/internal/stage nsjail cmd/brig; do suite user "$package"; done
