# shellcheck shell=bash
# The suites as an ordinary user to whom a cgroup subtree is delegated, on pure cgroup v2.
# layout: v2
# sets: quick full
# quick: 6.1
suites delegated
