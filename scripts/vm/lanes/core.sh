# shellcheck shell=bash
# kernel.core_pattern is a pipe: the kernel starts its program as root, in the host's namespaces, for a crash whose
# RLIMIT_CORE is not 1, and for none in a jail.
# layout: v2
# sets: full
printf '#!/bin/sh\necho "$1" >>/tmp/helped\n' >/tmp/helper
chmod 755 /tmp/helper
echo '|/tmp/helper %P' >/proc/sys/kernel/core_pattern
helped() { # WANT
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ ! -e /tmp/helped ] || break
		sleep 0.1
	done
	[ "$1" = "$([ -e /tmp/helped ] && echo yes || echo no)" ] && rm -f /tmp/helped
}
crash='kill -SEGV $$'
(ulimit -c 0; sh -c "$crash") || true
timed 'outside, a limit of 0 does not stop it' helped yes
for who in as_root as_user; do
	for flags in '' '--seccomp strict' '--seccomp compute' '--ulimit core=0' '--memory 64m --optional memory'; do
		# shellcheck disable=SC2086 # the flags are words
		expect 139 'SIGSEGV' $who brig run $flags -- sh -c "$crash"
		timed "no helper: $who $flags" helped no
	done
	expect 139 'SIGSEGV' $who brig run -- sh -c "ulimit -c 0; $crash"
	timed "no helper: $who, after ulimit -c 0" helped no
	expect 0 'Segmentation fault' $who brig run --no-init -- sh -c "sh -c '$crash'; true"
	timed "no helper: $who --no-init" helped no
done
expect 0 'core_pattern' as_root brig doctor
