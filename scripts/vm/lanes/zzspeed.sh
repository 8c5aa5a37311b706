# shellcheck shell=bash
# What a start with limits takes, against one without: on pure cgroup v2.
# layout: v2
# sets: full
export BRIG_TEST_FULL=1
suite root nsjail -test.run=TestLimitSpeed -test.v
result 1 0 forced
