# shellcheck shell=bash
# A kernel without Landlock: jails do without a second fence, and say so.
# append: lsm=lockdown,yama,integrity,apparmor
# quick: 6.12
for role in root user; do
	expect 0 '' as_"$role" brig run -- true
	expect 0 '^landlock +note +.*without a second fence' as_"$role" brig doctor
	expect 125 '^brig: landlock: the kernel has no Landlock' as_"$role" brig run --require landlock -- true
done
suite root nsjail/internal/launcher -test.short
