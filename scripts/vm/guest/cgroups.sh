# shellcheck shell=bash
# cgroups.sh: the cgroup layouts that a lane can ask for, and delegation. Sourced by start and by lane.

layout_v2() { mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup; }

mount_v1() {
	local c
	mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup
	for c in cpu,cpuacct cpuset memory devices freezer blkio pids hugetlb; do
		mkdir "/sys/fs/cgroup/$c"
		mount -t cgroup -o "$c" cgroup "/sys/fs/cgroup/$c" || rmdir "/sys/fs/cgroup/$c"
	done
	ln -s cpu,cpuacct /sys/fs/cgroup/cpu
	ln -s cpu,cpuacct /sys/fs/cgroup/cpuacct
}

# The controllers by v1, and beside them a cgroup2 tree without any: systemd's hybrid layout.
layout_hybrid() {
	mount_v1
	mkdir /sys/fs/cgroup/unified
	mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup/unified
}

# systemd's legacy layout has a named hierarchy as well.
layout_v1() {
	mount_v1
	mkdir /sys/fs/cgroup/systemd
	mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
}

layout_none() { :; }

# enable_controllers GROUP: every controller that the group has, for its children. One by one: a write is all or nothing.
enable_controllers() {
	local c
	for c in $(cat "$1/cgroup.controllers"); do
		echo "+$c" >"$1/cgroup.subtree_control" || echo "vm: $1 does not enable $c"
	done
}

# delegate GROUP UID: give a new group to a user: the directory and the three files that delegation means (cgroups(7)).
delegate() {
	local part path=/sys/fs/cgroup
	for part in $(tr / ' ' <<<"${1#/sys/fs/cgroup/}"); do
		enable_controllers "$path"
		path=$path/$part
		mkdir -p "$path"
	done
	chown "$2:$2" "$1" "$1"/cgroup.{procs,threads,subtree_control}
}
