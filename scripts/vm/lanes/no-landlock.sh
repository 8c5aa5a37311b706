# shellcheck shell=bash
# A kernel without Landlock, which brig does not need.
# append: lsm=lockdown,yama,integrity,apparmor
# quick: 6.12
for role in root user; do
	expect 0 '' as_"$role" brig run -- true
	expect 0 '^landlock +note +.*brig does not need it' as_"$role" brig doctor
done
suite root nsjail/internal/launcher -test.short
