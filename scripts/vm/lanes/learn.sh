# shellcheck shell=bash
# brig learn traces its jails where Yama lets only ancestors trace, and tells why it cannot where only root may.
# sets: full
echo 1 >/proc/sys/kernel/yama/ptrace_scope
suite user cmd/brig -test.run='TestScript/learn|TestLearn'
suite root cmd/brig -test.run='TestScript/learn|TestLearn'
echo 2 >/proc/sys/kernel/yama/ptrace_scope
expect 125 'ptrace_scope is 2' as_user brig learn -- true
expect 0 'works as it is' as_root brig learn -- true
