# shellcheck shell=bash
# The suites as root, on pure cgroup v2.
# layout: v2
# sets: quick full
# quick: 6.12
suites root
