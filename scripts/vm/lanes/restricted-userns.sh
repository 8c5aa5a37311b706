# shellcheck shell=bash
# A machine that restricts user namespaces as Ubuntu does, as far as Debian's kernels and its AppArmor 3 can: a setting
# that forbids them to users, and a profile that, as Ubuntu's unprivileged_userns, permits no capability in them. No jail
# is made, the reason and the remedy are told, and the tier without namespaces works where the kernel has it.
# sets: full
mkdir -p /var/lib/brig /tmp/store
mount --bind /tmp/store /var/lib/brig # a tmpfs has no extended attributes of users before Linux 6.6
tier() {
	if uname -r | grep -q '^6\.1\.'; then
		expect 125 '^brig: landlock: --tier process needs Landlock of ABI 6' "$@" brig run --tier process -- true
	else
		expect 0 '' "$@" brig run --tier process -- true
	fi
}

echo 0 >/proc/sys/kernel/unprivileged_userns_clone
for role in root user; do
	expect 125 '^brig: .*kernel.unprivileged_userns_clone is 0; .*sysctl -w kernel.unprivileged_userns_clone=1' "as_$role" brig run -- true
	expect 1 'user +missing +kernel.unprivileged_userns_clone is 0' "as_$role" brig doctor
	tier "as_$role"
done
echo 1 >/proc/sys/kernel/unprivileged_userns_clone

apparmor_parser -rK <<-'P'
	profile restricted {
	  file,
	  mount,
	  network,
	  pivot_root,
	  ptrace,
	  signal,
	  umount,
	  unix,
	  audit deny capability,
	}
P
restricted() { as_user aa-exec -p restricted -- "$@"; }
expect 125 '^brig: .*the AppArmor profile "restricted.*" confines this process; allow userns' restricted brig run -- true
expect 1 'user +missing +the AppArmor profile "restricted.*" confines this process' restricted brig doctor
tier restricted
