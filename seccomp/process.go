package seccomp

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// processTable returns the filter that is loaded in addition to any profile in a jail without namespaces. It refuses
// what would reach the host's processes, its IPC objects, its sockets and the attributes of its files. guardTable's
// rules are part of it. With network, IPv4, IPv6 and NETLINK_ROUTE sockets can be made; Unix sockets only as connected
// pairs of streams, since a datagram socket of a pair can send to any path. owns is set if the payload runs as a user
// who owns files of the host: Landlock has no right on the mode, owner, times and extended attributes of a file
// (landlock(7)), so that calls that name a file by its path are refused. Those of an open file are not.
func processTable(network, owns bool) (*Table, error) {
	p := &Profile{DefaultAction: "SCMP_ACT_ALLOW", ArchMap: Default().ArchMap}
	if network {
		p.allow("socket", is(0, unix.AF_INET))
		p.allow("socket", is(0, unix.AF_INET6))
		p.allow("socket", is(0, unix.AF_NETLINK), is(2, unix.NETLINK_ROUTE))
	}
	const kind = 0xf // the bits of a socket's type without flags: socket(2)
	for _, stream := range []uint64{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		p.allow("socketpair", is(0, unix.AF_UNIX), masked(1, kind, stream))
	}
	p.deny(unix.EPERM, "socket", "socketpair")
	// of other processes: the kernel lets a process change those of its user
	for _, name := range []string{"prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam",
		"sched_setattr"} {
		p.denyIf(unix.EPERM, name, Arg{Index: 0, Op: "SCMP_CMP_NE"})
	}
	p.allow("setpriority", is(0, unix.PRIO_PROCESS), is(1, 0))
	const ioprioProcess = 1 // IOPRIO_WHO_PROCESS
	p.allow("ioprio_set", is(0, ioprioProcess), is(1, 0))
	p.deny(unix.EPERM, "setpriority", "ioprio_set")
	p.deny(unix.ENOSYS, "shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd",
		"msgrcv", "msgctl", "mq_open", "mq_unlink")
	// a watch needs no right of Landlock; the mount table is the host's
	p.deny(unix.ENOSYS, "inotify_init", "inotify_init1", "inotify_add_watch", "fanotify_init", "fanotify_mark",
		"statmount", "listmount", "io_uring_setup", "io_uring_enter", "io_uring_register", "clone3")
	p.allow("clone", masked(0, namespaces, 0))
	p.deny(unix.EPERM, "clone", "unshare", "setns", "keyctl", "add_key", "request_key", "bpf", "perf_event_open",
		"userfaultfd", "syslog", "move_pages", "migrate_pages")
	if owns {
		p.allow("utimensat", Arg{Index: 1, Op: "SCMP_CMP_EQ"})
		p.deny(unix.EPERM, "chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchownat", "utime", "utimes", "futimesat",
			"utimensat")
		p.deny(unix.EOPNOTSUPP, "setxattr", "lsetxattr", "setxattrat", "removexattr", "lremovexattr", "removexattrat",
			"getxattr", "lgetxattr", "getxattrat", "listxattr", "llistxattr", "listxattrat")
	}
	p.guardArgs()
	p.guardFiles()
	return p.Resolve(Target{Arch: runtime.GOARCH})
}

// namespaces are the flags of clone(2) for new namespaces.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
