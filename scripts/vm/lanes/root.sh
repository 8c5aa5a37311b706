# shellcheck shell=bash
# The suites as root, on pure cgroup v2.
# layout: v2
# sets: quick full
for package in cgroup cgroup/monitor seccomp nsjail/internal/stage nsjail cmd/brig; do suite root "$package"; done
