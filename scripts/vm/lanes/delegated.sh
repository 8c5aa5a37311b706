# shellcheck shell=bash
# Each limit by itself, as the first that a delegated group sees. Some controllers can be enabled over the group's own
# processes without an EBUSY, which makes it a threaded domain (cgroups(7)) that no jail can be made in.
# sets: full
expect 0 '^held$' /brig/scripts/vm/delegate.sh
for limit in '--memory 64m' '--pids-limit 64' '--cpus 0.5' '--cpuset-cpus 0' '--cgroup cpu.weight=50' '--cpus 0.5 --memory 64m'; do
	# shellcheck disable=SC2086 # words
	expect 0 '' as_delegated brig run $limit -- true
	expect 0 '^domain$' cat "$scope/cgroup.type"
	expect 1 '' sh -c "ls $scope | grep '^brig-'" # the jail's group is gone
done
