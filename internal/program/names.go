package program

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Name returns the name of a system call that a program may contain, or its number.
func Name(nr uint32) string {
	switch nr {
	case Serve:
		return "serve"
	case Fork:
		return "fork_init"
	case Join:
		return "join"
	case Post:
		return "post"
	case Park:
		return "park"
	case Same:
		return "same_file"
	}
	for _, n := range names {
		if n.nr == nr {
			return n.name
		}
	}
	return "syscall_" + strconv.Itoa(int(nr))
}

// names are the system calls that programs contain; a test checks that it is complete.
var names = [...]struct {
	nr   uint32
	name string
}{
	{unix.SYS_BIND, "bind"}, {unix.SYS_LISTEN, "listen"}, {unix.SYS_RECVFROM, "recvfrom"}, {unix.SYS_SENDTO, "sendto"},
	{unix.SYS_SETSOCKOPT, "setsockopt"},
	{unix.SYS_CAPSET, "capset"}, {unix.SYS_CHDIR, "chdir"}, {unix.SYS_CHROOT, "chroot"}, {unix.SYS_CLOSE, "close"},
	{unix.SYS_CLOSE_RANGE, "close_range"}, {unix.SYS_CONNECT, "connect"}, {unix.SYS_EVENTFD2, "eventfd2"},
	{unix.SYS_DUP3, "dup3"}, {unix.SYS_EXECVE, "execve"}, {unix.SYS_EXIT_GROUP, "exit_group"}, {unix.SYS_FCHDIR, "fchdir"},
	{unix.SYS_FCHMODAT, "fchmodat"}, {unix.SYS_FCNTL, "fcntl"},
	{unix.SYS_FSCONFIG, "fsconfig"},
	{unix.SYS_FSMOUNT, "fsmount"}, {unix.SYS_FSOPEN, "fsopen"}, {unix.SYS_GETPPID, "getppid"}, {unix.SYS_IOCTL, "ioctl"},
	{unix.SYS_KEYCTL, "keyctl"}, {unix.SYS_LANDLOCK_ADD_RULE, "landlock_add_rule"},
	{unix.SYS_LANDLOCK_CREATE_RULESET, "landlock_create_ruleset"},
	{unix.SYS_LANDLOCK_RESTRICT_SELF, "landlock_restrict_self"},
	{unix.SYS_MKDIRAT, "mkdirat"}, {unix.SYS_MKNODAT, "mknodat"}, {unix.SYS_MOUNT, "mount"},
	{unix.SYS_MOUNT_SETATTR, "mount_setattr"}, {unix.SYS_MOVE_MOUNT, "move_mount"}, {unix.SYS_OPENAT, "openat"},
	{unix.SYS_OPENAT2, "openat2"}, {unix.SYS_OPEN_TREE, "open_tree"}, {unix.SYS_PIVOT_ROOT, "pivot_root"},
	{unix.SYS_PPOLL, "ppoll"}, {unix.SYS_PRCTL, "prctl"}, {unix.SYS_PRLIMIT64, "prlimit64"}, {unix.SYS_READ, "read"},
	{unix.SYS_SECCOMP, "seccomp"},
	{unix.SYS_SENDFILE, "sendfile"}, {unix.SYS_SENDMSG, "sendmsg"}, {unix.SYS_SETDOMAINNAME, "setdomainname"},
	{unix.SYS_SETGROUPS, "setgroups"},
	{unix.SYS_SETFSGID, "setfsgid"}, {unix.SYS_SETFSUID, "setfsuid"}, {unix.SYS_SETNS, "setns"},
	{unix.SYS_SETHOSTNAME, "sethostname"}, {unix.SYS_SETPRIORITY, "setpriority"}, {unix.SYS_SETRESGID, "setresgid"},
	{unix.SYS_SETRESUID, "setresuid"}, {unix.SYS_SETPGID, "setpgid"}, {unix.SYS_SETSID, "setsid"},
	{unix.SYS_SOCKET, "socket"},
	{unix.SYS_SYMLINKAT, "symlinkat"}, {unix.SYS_UMASK, "umask"}, {unix.SYS_UMOUNT2, "umount2"},
	{unix.SYS_UNLINKAT, "unlinkat"}, {unix.SYS_UNSHARE, "unshare"}, {unix.SYS_WRITE, "write"},
}
