package seccomp

import (
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// processTable returns the filter that is loaded in addition to any profile in a jail without namespaces. It refuses
// what would reach the host's processes, its IPC objects, its sockets and the attributes of its files. guardTable's
// rules are part of it. With network, the sockets of the default profile but AF_UNIX can be made; Unix sockets only as
// connected pairs of streams, since a datagram socket of a pair can send to any path. Landlock has no right on the
// mode, owner, times and attributes of a file (landlock(7)), so that calls that name a file by its path are refused,
// also where the mode of the file would permit them. owns is set if the payload runs as a user who owns files of the
// host. Then chmod(2) is refused, too.
func processTable(network, owns bool) (*Table, error) {
	p := &Profile{DefaultAction: "SCMP_ACT_ALLOW", ArchMap: Default().ArchMap}
	if network {
		p.allowSockets(unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)
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
		p.deny(unix.EPERM, "chmod", "fchmodat", "fchmodat2")
	}
	p.guardAttributes()
	p.guardArgs()
	p.guardFiles()
	return p.Resolve(Target{Arch: runtime.GOARCH})
}

// namespaces are the flags of clone(2) for new namespaces.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// guardAttributes adds the rules on attributes of files for which the kernel asks no right of Landlock.
func (p *Profile) guardAttributes() {
	p.allow("utimensat", Arg{Index: 1, Op: "SCMP_CMP_EQ"})
	p.deny(unix.EPERM, "chown", "lchown", "fchownat", "utime", "utimes", "futimesat", "utimensat")
	// with neither id it changes st_ctim of any file: the kernel asks for no right
	p.denyIf(unix.EPERM, "fchown", is(1, 1<<32-1), is(2, 1<<32-1))
	// fsetxattr and fremovexattr, too: a descriptor that is open for reading is enough, if the file's mode lets one write
	p.deny(unix.EOPNOTSUPP, "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr",
		"fremovexattr", "removexattrat",
		"getxattr", "lgetxattr", "getxattrat", "listxattr", "llistxattr", "listxattrat")
	p.deny(unix.ENOSYS, "file_getattr", "file_setattr")
	for _, request := range fileRequests() {
		p.allow("ioctl", is(1, request))
	}
	for _, kind := range []uint64{'f', 'X', 'v', 0x94} { // of all file systems; the last is btrfs's
		p.denyIf(unix.EPERM, "ioctl", masked(1, 0xff00, kind<<8))
	}
	const fatSetAttributes = 0x7211 // FAT_IOCTL_SET_ATTRIBUTES, without its direction and size
	p.denyIf(unix.EPERM, "ioctl", masked(1, 0xffff, fatSetAttributes))
}

// fileRequests are the requests of ioctl(2) on files that guardAttributes permits: those that read, or need a
// descriptor that is open for writing. With others the owner of a file sets flags of its inode (FS_IOC_SETFLAGS), makes
// it read-only for ever (FS_IOC_ENABLE_VERITY) or locks a directory (FS_IOC_REMOVE_ENCRYPTION_KEY), and a descriptor
// that is open for reading is enough.
func fileRequests() []uint64 {
	const direction = 0xe0000000 // _IOC_READ has another bit on ppc64le
	read := uint64(unix.FS_IOC_GETFLAGS & direction)
	const fiemap = 0xc020660b
	requests := []uint64{unix.FS_IOC_GETFLAGS, fiemap, unix.FICLONE, unix.FICLONERANGE, unix.FIDEDUPERANGE,
		read | 0x1c581f /* FS_IOC_FSGETXATTR */, read | 0x087601 /* FS_IOC_GETVERSION */}
	if runtime.GOARCH == "ppc64le" { // where requests of all descriptors have the same letter
		const fionbio, fioclex, fionclex = 0x8004667e, 0x20006601, 0x20006602
		requests = append(requests, unix.TIOCINQ, fionbio, fioclex, fionclex)
	}
	return requests
}

// allowSockets adds the rules of the default profile that allow sockets of some families.
func (p *Profile) allowSockets(families ...uint64) {
	for _, s := range Default().Syscalls {
		if s.Action == "SCMP_ACT_ALLOW" && slices.Contains(s.Names, "socket") &&
			slices.ContainsFunc(families, func(f uint64) bool { return s.Args[0].cond().Holds([6]uint64{f}) }) {
			p.Syscalls = append(p.Syscalls, s)
		}
	}
}
