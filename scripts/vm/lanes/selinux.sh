# shellcheck shell=bash
# SELinux: the payload starts with the context that --selinux-label names. The policy has three types, and allows what it
# does not know.
# append: security=selinux
# sets: full
mount -t selinuxfs none /sys/fs/selinux
expect 125 '^brig: selinux: SELinux is permissive here; run `setenforce 1`' as_root brig run --selinux-label u:r:jail -- true
{
	sids='kernel security unlabeled fs file file_labels init any_socket port netif netmsg node igmp_packet icmp_socket
		tcp_socket sysctl_modprobe sysctl sysctl_fs sysctl_kernel sysctl_net sysctl_net_unix sysctl_vm sysctl_dev kmod
		policy scmp_packet devnull'
	for sid in $sids; do echo "(sid $sid) (sidcontext $sid (u r base ((s0) (s0))))"; done
	echo "(sidorder ($(echo $sids)))"
	cat <<-'P'
		(handleunknown allow)
		(policycap nnp_nosuid_transition)
		(sensitivity s0)
		(sensitivityorder (s0))
		(user u)
		(userlevel u (s0))
		(userrange u ((s0) (s0)))
		(role r)
		(userrole u r)
		(type base)
		(type jail)
		(type secret)
		(roletype r base)
		(roletype r jail)
		(roletype r secret)
		(class process (fork transition sigchld sigkill sigstop signull signal ptrace getsched setsched getsession getpgid
			setpgid getcap setcap share getattr setexec setfscreate noatsecure siginh setrlimit rlimitinh dyntransition
			setcurrent execmem execstack execheap setkeycreate setsockcreate getrlimit))
		(class process2 (nnp_transition nosuid_transition))
		(class file (ioctl read write create getattr setattr lock relabelfrom relabelto append map unlink link rename
			execute quotaon mounton audit_access open execmod watch watch_mount watch_sb watch_with_perm watch_reads
			execute_no_trans entrypoint))
		(classorder (process process2 file))
		(fsuse xattr ext4 (u r base ((s0) (s0))))
		(fsuse xattr overlay (u r base ((s0) (s0))))
		(fsuse trans tmpfs (u r base ((s0) (s0))))
		(genfscon proc "/" (u r base ((s0) (s0))))
		(typeattribute types)
		(typeattributeset types (base jail secret))
		(allow base types (process (all)))
		(allow base types (process2 (all)))
		(allow base types (file (all)))
		(allow jail base (process (sigchld)))
		(allow jail base (file (all)))
		(allow jail jail (process (all)))
		(allow jail jail (file (all)))
	P
} >/tmp/policy.cil
expect 0 '' secilc -o /tmp/policy -f /tmp/contexts /tmp/policy.cil
expect 0 '' cp /tmp/policy /sys/fs/selinux/load
echo 1 >/sys/fs/selinux/enforce

mkdir /tmp/in
echo plain >/tmp/in/plain
echo secret >/tmp/in/denied
chmod -R a+rX /tmp/in
expect 0 '' python3 -c 'import os; os.setxattr("/tmp/in/denied", "security.selinux", b"u:r:secret\0")'
for role in root user; do
	jail() { "as_$role" brig run --input /tmp/in "$@"; }
	expect 0 '^secret$' jail -- cat /input/denied
	expect 0 '^plain$' jail --selinux-label u:r:jail -- cat /input/plain
	expect 1 'Permission denied' jail --selinux-label u:r:jail -- cat /input/denied
	expect 0 '^u:r:jail' jail --selinux-label u:r:jail -- cat /proc/self/attr/current
	expect 0 '"selinux": "u:r:jail"' jail --selinux-label u:r:jail --json -- true
	expect 0 '^u:r:jail' "as_$role" brig bwrap --unshare-pid --exec-label u:r:jail --ro-bind / / cat /proc/self/attr/current
	expect 1 'Permission denied' "as_$role" brig bwrap --exec-label u:r:jail --ro-bind / / cat /tmp/in/denied
	expect 1 '^bwrap: --exec-label: .*invalid argument' "as_$role" brig bwrap --exec-label u:r:jailed --ro-bind / / true
	expect 125 '^brig: .*selinux.* the policy has no such context' jail --selinux-label u:r:jailed -- true
	expect 125 '^brig: --apparmor: AppArmor is not in force here' jail --apparmor lane -- true
	expect 126 'its label may not be entered with no_new_privs, or may not execute it' jail --selinux-label u:r:secret -- true
done
export BRIG_TEST_SELINUX=u:r:jail
suite root nsjail -test.run='^TestLabels$'
suite user nsjail -test.run='^TestLabels$'
