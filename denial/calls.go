package denial

import (
	"slices"
	"strings"

	"brig/internal/words"
)

// The fixes of the table. no means that no preset allows the call, which harms the host or fails without a filter, too.
var no func() words.Text

func debug() words.Text { return words.Set("seccomp", "debug") }

func ownProfile() words.Text { return "a profile that allows it: " + words.Set("seccomp", "FILE") }

func mounts() words.Text {
	return words.Textf("%s, %s and %s make the mounts that it needs",
		words.Set("mounts", map[string]any{"type": "bind", "writable": true}), words.Set("mounts",
			map[string]string{"type": "tmpfs"}),
		words.Field("rootfs"))
}

func noSandbox() words.Text {
	return "a sandbox of the program's own may often be turned off, as by --no-sandbox"
}

func sameUser() words.Text {
	return "a program that becomes another for safety may often be told not to, as by apt-get -o APT::Sandbox::User=root"
}

// row is the reason for which the default preset refuses some system calls, and what would allow them.
type row struct {
	calls string // names, separated by spaces
	args  bool   // only for some arguments
	why   string
	fix   func() words.Text
}

// rows has every system call that the preset default refuses with EPERM. A test compares it with the preset.
var rows = []row{
	{"mount umount2 mount_setattr move_mount fsopen fsconfig fsmount fspick open_tree pivot_root chroot", false,
		"a jail may not mount or change its root: brig does that before the payload starts",
		mounts},
	{"unshare setns", false,
		"a jail may not make or enter namespaces: they open most of the kernel's privileged code to the payload",
		noSandbox},
	{"clone", true, "a jail may not make namespaces (CLONE_NEW*): they open most of the kernel's privileged code to it",
		noSandbox},
	{"setgroups setgroups32", false, "a payload has one user with its groups, and no capability to become another",
		sameUser},
	{"socket", true, "only local and routing sockets, TCP, UDP and ping are allowed: others reach the host, have it " +
		"load modules, or are rare kernel code (raw sockets, SCTP, MPTCP)", no},
	{"socketpair", true, "only pairs of local sockets (AF_UNIX) are allowed", no},
	{"setsockopt", true, "a filter on a socket takes of a limit on machine code that the whole machine shares; keys of " +
		"TCP have the host load modules, and encapsulation in UDP is rare kernel code", no},
	{"sendto sendmsg sendmmsg", true, "MSG_OOB reaches rare kernel code that had holes", no},
	{"ptrace", true, "PTRACE_O_TRACEEXIT lets processes that trace each other survive their own end", debug},
	{"kcmp pidfd_getfd process_madvise", false, "only debuggers need to look into other processes in this way", debug},
	{"ioctl", true, "it types into a terminal, makes it unusable, has it send signals to processes of the host, or has " +
		"the host load modules (bridges, VLANs)", no},
	{"fcntl", true, "F_SETSIG, O_ASYNC, F_SETLEASE and F_NOTIFY act on processes of the host that have the same file " +
		"open, or tell of the host's files", no},
	{"open openat creat mknod mknodat chmod fchmod fchmodat fchmodat2", true,
		"it sets S_ISUID or S_ISGID, and in a writable bind such a program would keep its owner's rights on the host", no},
	{"personality", true,
		"rare personalities turn protections of the kernel off, or reach rare kernel code", ownProfile},
	{"setpriority ioprio_set sched_setaffinity sched_setattr sched_setparam sched_setscheduler prlimit64", true,
		"process 1 is the jail's init, which must not be slowed down or ended", no},
	{"mbind set_mempolicy set_mempolicy_home_node get_mempolicy migrate_pages move_pages", false,
		"the placement of memory on the machine's nodes is the host's", ownProfile},
	{"add_key request_key keyctl", false,
		"keys of the kernel belong to a user of the host, and no namespace separates them", no},
	{"io_uring_setup io_uring_enter io_uring_register", false,
		"io_uring opens files and sockets past every filter, and has had many holes", ownProfile},
	{"bpf perf_event_open userfaultfd modify_ldt uselib _sysctl lookup_dcookie", false,
		"it is kernel code with a history of holes that ordinary programs do not need", ownProfile},
	{"name_to_handle_at open_by_handle_at fanotify_init fanotify_mark", false,
		"file handles lead around the root of the jail", no},
	{"init_module finit_module delete_module create_module query_module get_kernel_syms kexec_load " +
		"kexec_file_load reboot", false, "it changes the kernel of the host", no},
	{"clock_settime settimeofday swapon swapoff sethostname setdomainname acct quotactl quotactl_fd syslog vhangup " +
		"ioperm iopl nfsservctl sysfs ustat security lsm_get_self_attr lsm_set_self_attr lsm_list_modules", false,
		"it reads or changes the machine as a whole, or asks for a privilege that a jail never has", no},
	{"afs_syscall getpmsg putpmsg tuxcall vserver", false, "no kernel of today has it", no},
}

// refusal returns why a profile refuses a system call with EPERM, as one sentence without its full stop, and what would
// allow it ("" if nothing of brig's would). profile is Spec.Seccomp: the name of a preset, "" for the default one, or
// the path of a file.
func refusal(name, profile string) (why, fix words.Text) {
	if strings.Contains(profile, "/") {
		return "the profile of " + words.Field("seccomp") + " does not allow it", "add it to the profile"
	}
	i := slices.IndexFunc(rows, func(r row) bool { return slices.Contains(strings.Fields(r.calls), name) })
	narrow := slices.Contains([]string{"strict", "compute", "build"}, profile)
	switch {
	case narrow && name == "io_setup": // the default preset answers ENOSYS
		return "its requests take of a limit that the whole machine shares (fs.aio-max-nr)", ""
	case narrow && (i < 0 || rows[i].args):
		return "the preset " + words.Plain(profile) + " does without it", words.Set("seccomp", "default")
	case i < 0:
		return "it is not on the list of allowed system calls", ownProfile()
	}
	if why = words.Plain(rows[i].why); rows[i].fix != nil {
		fix = rows[i].fix()
	}
	return why, fix
}
